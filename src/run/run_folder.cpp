#include "run/run_folder.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include <unistd.h>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/version.h"
#include "io/files.h"
#include "io/json.h"
#include "io/settings.h"

namespace ovde {

namespace fs = std::filesystem;

namespace {

constexpr const char* kConfigFile = "config.toml";
constexpr const char* kProgressFile = "progress.csv";
constexpr const char* kPopulationFile = "population.toml";
constexpr const char* kSummaryFile = "summary.json";
constexpr const char* kAgentPrefix = "seed_";

bool is_agent_folder(const fs::path& path) {
  return path.filename().string().starts_with(kAgentPrefix);
}

// The agents' folders of a population, as far as they can be listed.
std::vector<std::string> agent_folders(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (is_agent_folder(at->path())) names.push_back(at->path().filename().string());
  }
  return names;
}

bool holds_run(const fs::path& folder) {
  std::error_code ignored;
  for (const char* name : {kConfigFile, kProgressFile, kSummaryFile, kPopulationFile}) {
    if (fs::exists(folder / name, ignored)) return true;
  }
  return !agent_folders(folder).empty();
}

}  // namespace

void check_new_run_folder(const fs::path& folder) {
  if (folder.empty()) throw OutputPathError("a run needs a folder with a name");
  if (holds_run(folder)) {
    throw OutputPathError(
        fmt::format("folder {} already holds a run; choose another", folder.string()));
  }

  // the part of the path that exists must be a folder in which files can be made
  fs::path existing = fs::absolute(folder).lexically_normal();
  while (existing != existing.root_path() && ::access(existing.c_str(), F_OK) != 0) {
    if (errno != ENOENT) refuse_folder(folder, std::strerror(errno));
    existing = existing.parent_path();
  }
  if (std::error_code ignored; !fs::is_directory(existing, ignored)) {
    refuse_folder(folder, fmt::format("{} is not a folder", existing.string()));
  }
  if (::access(existing.c_str(), W_OK | X_OK) != 0) refuse_folder(folder, std::strerror(errno));
}

void ensure_new_run_folder(const fs::path& folder) {
  check_new_run_folder(folder);
  make_folder(folder);
}

void check_run_folder(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw InputError(
        fmt::format("{} is not a folder; a run's folder is what training left", folder.string()));
  }
  if (fs::exists(folder / kConfigFile, ignored)) return;
  const auto agents = agent_folders(folder);
  if (!agents.empty()) {
    throw InputError(fmt::format("{} holds {} agents; name the folder of one, such as {}",
                                 folder.string(), agents.size(),
                                 (folder / *std::ranges::min_element(agents)).string()));
  }
  throw InputError(fmt::format("{} holds no run: it has no {}", folder.string(), kConfigFile));
}

fs::path agent_folder(const fs::path& run, std::span<const std::uint64_t> seeds,
                      std::size_t agent) {
  return seeds.size() == 1 ? run : run / fmt::format("{}{}", kAgentPrefix, seeds[agent]);
}

void write_config(const fs::path& folder, const Config& config, const std::string& command) {
  write_file_atomically(folder / kConfigFile, to_toml(config, version(), command));
}

Config read_config(const fs::path& folder) {
  return restore_config(read_settings(folder / kConfigFile));
}

std::string to_json(const RunSummary& summary) {
  return JsonObject()
      .add("task", summary.task)
      .add("algorithm", summary.algorithm)
      .add("seed", summary.seed)
      .add("epochs", summary.epochs)
      .add("score", summary.score)
      .add("first_goal_epoch_eval", summary.first_goal_epoch_eval)
      .add("first_goal_epoch_explore", summary.first_goal_epoch_explore)
      .add("wall_seconds", summary.wall_seconds)
      .add("steps_per_second", summary.steps_per_second)
      .add("version", summary.version)
      .page();
}

void write_summary(const fs::path& folder, const RunSummary& summary) {
  write_file_atomically(folder / kSummaryFile, to_json(summary));
}

bool is_finished(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kSummaryFile, ignored);
}

bool holds_population(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / kPopulationFile, ignored);
}

std::optional<fs::path> population_above(const fs::path& folder) {
  const fs::path above = fs::absolute(folder).lexically_normal().parent_path();
  return holds_population(above) ? std::optional(above) : std::nullopt;
}

void write_population(const fs::path& folder, const Population& population,
                      const std::string& command) {
  std::vector<std::string> seeds;
  for (const std::uint64_t seed : population.seeds) seeds.push_back(std::to_string(seed));
  write_file_atomically(folder / kPopulationFile, to_toml(population.config, version(), command) +
                                                      "\n[population]\n" +
                                                      toml_list("seeds", seeds));
}

std::optional<Population> read_population(const fs::path& folder) {
  if (!holds_population(folder)) return std::nullopt;
  std::vector<Setting> settings = read_settings(folder / kPopulationFile);
  const auto found = std::ranges::find(settings, "population.seeds", &Setting::key);
  const auto* list =
      found == settings.end() ? nullptr : std::get_if<std::vector<double>>(&found->value);
  const auto is_seed = [](double x) { return x >= 0 && x < 0x1p53 && x == std::floor(x); };
  if (list == nullptr || list->empty() || !std::ranges::all_of(*list, is_seed)) {
    throw InputError(fmt::format("{}: population.seeds must be a list of seeds",
                                 (folder / kPopulationFile).string()));
  }
  Population population;
  population.seeds.assign(list->begin(), list->end());
  settings.erase(found);
  population.config = restore_config(settings);
  return population;
}

std::optional<Population> read_runs(const fs::path& folder) {
  if (auto population = read_population(folder)) return population;
  if (!fs::exists(folder / kConfigFile)) return std::nullopt;
  const Config config = read_config(folder);
  return Population{config, {config.seed}};
}

}  // namespace ovde
