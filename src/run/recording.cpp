#include "run/recording.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/text.h"
#include "config/build.h"
#include "io/crc32c.h"
#include "run/run_folder.h"

namespace ovde {

namespace {

constexpr const char* kVisitFile = "visits.f32";
constexpr std::size_t kLargestVisits = 256 << 20;  // bytes: 33 million steps
constexpr const char* kNetworkFolder = "networks";
constexpr std::string_view kEpochPrefix = "epoch_", kEpochSuffix = ".safetensors";

// The metadata of a file of networks.
std::map<std::string, std::string> origin_of_epoch(int epoch, const Config& config) {
  return {{"format", kNetworksFormat},
          {"task", config.task},
          {"algorithm", config.algorithm},
          {"seed", std::to_string(config.seed)},
          {"epoch", std::to_string(epoch)}};
}

std::optional<int> epoch_of(const fs::path& path) {
  const auto epoch = number_between(path.filename().string(), kEpochPrefix, kEpochSuffix);
  return epoch && *epoch >= 0 ? epoch : std::nullopt;
}

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// At most the first `size` bytes of the file; none if it is missing.
std::string beginning(const fs::path& file, std::size_t size) {
  if (!fs::exists(file)) return "";
  return read_file(file).substr(0, size);
}

}  // namespace

VisitFile::VisitFile(const fs::path& run, const std::string& contents)
    : checksum_(crc32c(as_bytes(contents))), file_(run / kVisitFile, contents) {}

VisitFile VisitFile::resume(const fs::path& run, const std::optional<Bytes>& saved,
                            std::int64_t steps, std::vector<std::string>& warnings) {
  const auto size = static_cast<std::size_t>(steps) * sizeof(Position);
  const std::string there = beginning(run / kVisitFile, size);
  const bool whole = saved && there.size() == size &&
                     ByteReader(*saved).get<std::uint32_t>() == crc32c(as_bytes(there));
  if (whole) return {run, there};

  constexpr float unknown = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Position> lost(static_cast<std::size_t>(steps), {unknown, unknown});
  warnings.push_back(fmt::format("{} is damaged: the positions of the first {} steps are lost",
                                 (run / kVisitFile).string(), steps));
  return {run, std::string(reinterpret_cast<const char*>(lost.data()), size)};
}

void VisitFile::append(std::span<const Position> positions) {
  if (positions.empty()) return;
  const auto bytes = std::as_bytes(positions);
  file_.append(bytes);
  checksum_ = crc32c(bytes, checksum_);
}

Bytes VisitFile::saved() {
  file_.sync();
  ByteWriter out;
  out.put(checksum_);
  return out.take();
}

void read_visits(const Folder& run, const std::function<void(std::span<const Position>)>& visit) {
  if (!is_there(run.path() / kVisitFile)) {
    throw InputError(
        fmt::format("{} has no record of its positions ({}): it was trained with "
                    "record.visits = false, or by an older version",
                    run.path().string(), kVisitFile));
  }
  const Descriptor file = run.open(kVisitFile);
  std::vector<Position> positions(8192);
  const std::size_t size = positions.size() * sizeof(Position);
  const fs::path path = run.path() / kVisitFile;
  for (std::size_t at = 0; at < kLargestVisits; at += size) {
    const std::size_t count = read_at(file, path, positions.data(), size, at);
    if (count == 0) return;
    visit(std::span(positions).first(count / sizeof(Position)));
  }
  throw InputError(fmt::format("{}: larger than {} bytes", path.string(), kLargestVisits));
}

std::vector<Position> read_visits(const Folder& run) {
  std::vector<Position> all;
  read_visits(run, [&](std::span<const Position> some) {
    all.insert(all.end(), some.begin(), some.end());
  });
  return all;
}

fs::path epoch_file(const fs::path& folder, int epoch) {
  return folder / fmt::format("{}{}{}", kEpochPrefix, epoch, kEpochSuffix);
}

std::vector<int> epoch_files(const fs::path& folder) {
  std::vector<int> out;
  for (const fs::path& path : paths_in(folder)) {
    if (const auto epoch = epoch_of(path)) out.push_back(*epoch);
  }
  std::ranges::sort(out);
  return out;
}

fs::path network_file(const fs::path& run, int epoch) {
  return epoch_file(run / kNetworkFolder, epoch);
}

void write_networks(const fs::path& run, int epoch, Agent& agent, const Box& action_space,
                    const Config& config) {
  TensorFile file = policy_tensors(agent.policy(), action_space, origin_of(config));
  for (const auto& [name, values] : agent.state().arrays) {
    if (!holds_parameters(name)) continue;
    file.tensors[name] = {{static_cast<std::int64_t>(values.size())},
                          {values.begin(), values.end()}};
  }
  for (const auto& [key, value] : origin_of_epoch(epoch, config)) file.metadata[key] = value;
  make_folder(run / kNetworkFolder);
  write_safetensors(network_file(run, epoch), file);
}

std::vector<int> recorded_epochs(const fs::path& run) { return epoch_files(run / kNetworkFolder); }

std::unique_ptr<Agent> read_networks(const fs::path& run, int epoch, const Config& config) {
  const fs::path path = network_file(run, epoch);
  const TensorFile file = read_safetensors(path);
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("{}: belongs to another run: {}", path.string(), why));
  };
  for (const auto& [key, expected] : origin_of_epoch(epoch, config)) {
    const auto found = file.metadata.find(key);
    if (found == file.metadata.end() || found->second != expected)
      refuse(fmt::format("its {} is not {}", key, expected));
  }

  for (const auto& [name, tensor] : file.tensors) {
    if (!std::ranges::all_of(tensor.values, [](float x) { return std::isfinite(x); }))
      refuse(fmt::format("'{}' holds numbers that are not finite", name));
  }

  AgentOptions options = agent_options(config, *make_environment(config), config.seed);
  options.learner.train.replay = 1;  // it will not learn
  auto agent = make_agent(options);
  for (const auto& [name, values] : agent->state().arrays) {
    if (!holds_parameters(name)) continue;
    const auto found = file.tensors.find(name);
    if (found == file.tensors.end() || found->second.values.size() != values.size())
      refuse(fmt::format("no '{}' of its size", name));
    std::ranges::copy(found->second.values, values.begin());
  }
  agent->restored();
  return agent;
}

}  // namespace ovde
