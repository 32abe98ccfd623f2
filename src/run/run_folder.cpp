#include "run/run_folder.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "base/suggestion.h"
#include "base/text.h"
#include "base/version.h"
#include "env/registry.h"
#include "io/crc32c.h"
#include "io/files.h"
#include "io/seeds.h"
#include "io/settings.h"
#include "run/progress_csv.h"
#include "run/run_lock.h"
#include "run/run_status.h"

namespace ovde {

namespace {

constexpr const char* kConfigFile = "config.toml";
constexpr const char* kPopulationFile = "population.toml";
constexpr const char* kAgentPrefix = "seed_";
constexpr const char* kPolicySuffix = ".safetensors";
constexpr std::size_t kLargestConfig = 4 << 20;

bool is_agent_folder(const fs::path& path) {
  return path.filename().string().starts_with(kAgentPrefix);
}

Config restored(const fs::path& file, const std::vector<Setting>& settings) {
  for (const char* key : {"run.task", "run.algorithm"}) {
    if (std::ranges::find(settings, key, &Setting::key) == settings.end())
      throw InputError(
          fmt::format("{}: not the configuration of a run: it has no {}", file.string(), key));
  }
  use_own_task_file(file, settings);
  return restore_config(settings);
}

// Detects a list of seeds that somebody edited.
std::string seed_checksum(std::span<const std::uint64_t> seeds) {
  return fmt::format("{:08x}", crc32c(std::as_bytes(seeds)));
}

// The names of the agents' folders.
std::vector<std::string> agent_folders(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::path& path : paths_in(folder)) {
    if (is_agent_folder(path)) names.push_back(path.filename().string());
  }
  return names;
}

bool holds_run(const fs::path& folder) {
  for (const char* name : {kConfigFile, kProgressFile, kSummaryFile, kPopulationFile}) {
    if (has_file(folder, name)) return true;
  }
  return !agent_folders(folder).empty();
}

// A run that was killed before it had a config.toml leaves its lock, unfinished files and the copy
// of its task. After a power failure the lock may be gone. A folder `task` without a lock is a
// user's.
bool is_of_killed_start(const fs::path& path) {
  const fs::path name = path.filename();
  return name == kLockFile || name.extension() == ".tmp" ||
         (name == kTaskFolder && has_file(path.parent_path(), kLockFile));
}

void check_empty(const fs::path& folder) {
  if (!is_folder(folder)) return;
  if (std::ranges::all_of(paths_in(folder), is_of_killed_start)) return;
  throw OutputPathError(
      fmt::format("folder {} is not empty; a run needs a folder of its own, such as {}",
                  folder.string(), unused_folder(folder / "run").string()));
}

}  // namespace

bool has_file(const fs::path& folder, const char* name) {
  std::error_code error;
  const fs::file_status status = fs::status(folder / name, error);
  if (status.type() == fs::file_type::none)
    throw InputError(
        fmt::format("cannot look at {}: {}", (folder / name).string(), error.message()));
  return fs::is_regular_file(status);
}

void check_output_folder(const fs::path& folder) {
  if (folder.empty()) throw OutputPathError("a run needs a folder with a name");
  // the existing part of the path must be a writable folder
  std::error_code error;
  fs::path existing = fs::absolute(folder, error).lexically_normal();
  if (error) refuse_folder(folder, "the current folder does not exist any more");
  while (existing != existing.root_path() && ::access(existing.c_str(), F_OK) != 0) {
    if (errno != ENOENT) refuse_folder(folder, std::strerror(errno));
    existing = existing.parent_path();
  }
  if (!is_folder(existing)) {
    refuse_folder(folder, fmt::format("{} is not a folder", existing.string()));
  }
  if (::access(existing.c_str(), W_OK | X_OK) != 0) refuse_folder(folder, std::strerror(errno));
  check_holds_no_run(folder);
}

void check_holds_no_run(const fs::path& folder) {
  if (!holds_run(folder)) return;
  throw FolderHoldsRun(
      fmt::format("folder {} already holds a run; choose another", folder.string()), folder);
}

void check_new_run_folder(const fs::path& folder) {
  check_output_folder(folder);
  check_empty(folder);
}

void ensure_new_run_folder(const fs::path& folder) {
  check_new_run_folder(folder);
  make_folder(folder);
}

bool holds_config(const fs::path& folder) { return has_file(folder, kConfigFile); }

fs::path unused_folder(const fs::path& folder) {
  fs::path out = folder;
  for (int number = 2; is_there(out); ++number) out = fmt::format("{}_{}", folder.string(), number);
  return out;
}

void check_folder(const fs::path& folder) {
  if (is_folder(folder)) return;
  const fs::path named = (folder / "").parent_path();  // without a slash at its end
  const fs::path above = named.has_parent_path() ? named.parent_path() : fs::path(".");
  if (named.extension() == kPolicySuffix && !is_there(named) && holds_config(above))
    refuse_missing_policy(named, above);
  std::error_code ignored;
  std::vector<std::string> beside;
  for (const fs::path& path : paths_in(above, ignored))
    if (is_folder(path)) beside.push_back(path.filename().string());
  throw InputError(fmt::format("{} is not a folder{}", folder.empty() ? "\"\"" : folder.string(),
                               did_you_mean(named.filename().string(), beside)));
}

void refuse_missing_policy(const fs::path& policy, const fs::path& run) {
  std::vector<std::string> there;
  for (const fs::path& path : paths_in(run)) {
    if (path.extension() == kPolicySuffix) there.push_back(path.filename().string());
  }
  std::ranges::sort(there);
  throw InputError(fmt::format("{} is missing; {} has {}", policy.string(), run.string(),
                               there.empty() ? "no policies, which are written at the end of a run"
                                             : fmt::format("{}", fmt::join(there, ", "))));
}

void check_run_folder(const fs::path& folder) {
  check_folder(folder);
  if (holds_config(folder)) return;
  const std::vector<fs::path> below = run_folders(folder);
  if (below.empty())
    throw InputError(fmt::format("{} holds no run: it has no {}", folder.string(), kConfigFile));
  throw InputError(fmt::format("{} holds {}; name the folder of one, such as {}", folder.string(),
                               plural(std::ssize(below), "run"), below.front().string()));
}

fs::path agent_folder(const fs::path& run, std::span<const std::uint64_t> seeds,
                      std::size_t agent) {
  if (seeds.size() == 1 && !holds_population(run)) return run;
  return run / fmt::format("{}{}", kAgentPrefix, seeds[agent]);
}

std::optional<fs::path> find_agent(const fs::path& run, std::uint64_t seed) {
  const fs::path own = run / fmt::format("{}{}", kAgentPrefix, seed);
  if (has_file(own, kConfigFile)) return own;
  if (holds_population(run) || !has_file(run, kConfigFile)) return std::nullopt;
  return read_config(run).seed == seed ? std::optional(run) : std::nullopt;
}

// population.toml is written first; the agent's files are moved then, its config.toml, which marks
// a run, last.
void make_population(const fs::path& folder, const std::string& command) {
  if (!has_file(folder, kConfigFile)) return;
  const Config config = read_config(folder);
  const fs::path own = folder / fmt::format("{}{}", kAgentPrefix, config.seed);
  make_folder(own);
  std::vector<fs::path> files;
  for (const fs::path& path : paths_in(folder)) {
    const fs::path name = path.filename();
    const bool stays = name == kLockFile || name == kConfigFile || name == kPopulationFile ||
                       name == kTaskFolder || is_agent_folder(path);
    if (!stays) files.push_back(name);
  }
  if (!holds_population(folder)) write_population(folder, {config, {config.seed}}, command);
  for (const fs::path& name : files) fs::rename(folder / name, own / name);
  fs::rename(folder / kConfigFile, own / kConfigFile);
}

void use_own_task_file(const fs::path& config, const std::vector<Setting>& settings) {
  const auto text = [&](const char* key) {
    const auto found = std::ranges::find(settings, key, &Setting::key);
    const auto* value = found == settings.end() ? nullptr : std::get_if<std::string>(&found->value);
    return value == nullptr ? std::string() : *value;
  };
  const std::string task = text("run.task");
  if (!is_task_file(task)) return;
  const fs::path folder = config.parent_path();
  for (const fs::path& run : {folder, folder / ".."})
    use_task_copy(task, text(kTaskDigest), run / kTaskFolder);
}

void write_config(const fs::path& folder, const Config& config, const std::string& command) {
  write_file_atomically(folder / kConfigFile, to_toml(config, version(), command));
}

Config read_config(const Folder& folder) {
  const fs::path file = folder.path() / kConfigFile;
  return restored(file, parse_toml(folder.read(kConfigFile, kLargestConfig), file.string()));
}

bool holds_population(const fs::path& folder) { return has_file(folder, kPopulationFile); }

std::optional<fs::path> population_above(const fs::path& folder) {
  std::error_code ignored;  // `above` is empty for a folder that does not exist
  const fs::path above = fs::canonical(folder, ignored).parent_path();
  return !above.empty() && holds_population(above) ? std::optional(above) : std::nullopt;
}

std::string to_toml(const Population& population, const std::string& command) {
  std::vector<std::string> seeds;
  for (const std::uint64_t seed : population.seeds) seeds.push_back(std::to_string(seed));
  return to_toml(population.config, version(), command) + "\n[population]\n" +
         toml_list("seeds", seeds) + toml_entry("checksum", seed_checksum(population.seeds));
}

void write_population(const fs::path& folder, const Population& population,
                      const std::string& command) {
  write_file_atomically(folder / kPopulationFile, to_toml(population, command));
}

Population parse_population(std::vector<Setting> settings, const std::string& name) {
  const auto take = [&](const char* key) -> std::optional<OptionValue> {
    const auto found = std::ranges::find(settings, key, &Setting::key);
    if (found == settings.end()) return std::nullopt;
    OptionValue value = std::move(found->value);
    settings.erase(found);
    return value;
  };
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("{}: {}", name, why));
  };

  const auto value = take("population.seeds");
  const auto* list = value ? std::get_if<std::vector<double>>(&*value) : nullptr;
  const auto is_seed = [](double x) { return x >= 0 && x < 0x1p53 && x == std::floor(x); };
  if (list == nullptr || list->empty() || !std::ranges::all_of(*list, is_seed))
    refuse("population.seeds must be a list of seeds");
  Population population;
  population.seeds.assign(list->begin(), list->end());
  try {
    check_seeds(population.seeds);
  } catch (const InputError& error) {
    refuse(fmt::format("population.seeds: {}", error.what()));
  }
  // files of older versions have no checksum
  if (const auto checksum = take("population.checksum");
      checksum && *checksum != OptionValue(seed_checksum(population.seeds))) {
    refuse("population.seeds was changed since the run began; change it back");
  }
  population.config = restored(name, settings);
  return population;
}

std::optional<Population> read_population(const fs::path& folder) {
  if (!holds_population(folder)) return std::nullopt;
  const fs::path file = folder / kPopulationFile;
  return parse_population(read_settings(file), file.string());
}

std::optional<Population> read_runs(const fs::path& folder) {
  if (auto population = read_population(folder)) return population;
  if (!holds_config(folder)) return std::nullopt;
  const Config config = read_config(folder);
  return Population{config, {config.seed}};
}

}  // namespace ovde
