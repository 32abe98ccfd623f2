// The folder of a run: which one may be used, and its config.toml or population.toml (the other
// files have headers of their own). A population has one such folder, seed_<n>, for each agent.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "act/policy_file.h"
#include "base/file_system.h"
#include "config/config.h"
#include "io/files.h"
#include "io/folder.h"

namespace ovde {

inline constexpr const char *kSummaryFile = "summary.json", *kStateFile = "state.json";
inline constexpr const char *kPolicyFile = "policy.safetensors",  // after the last epoch
    *kBestPolicyFile = "policy_best.safetensors";
inline constexpr const char* kTaskFolder = "task";  // copy of the task file and its model

// Whether `folder` has a regular file of that name. A folder does not count: a study's column may
// be called config.toml. InputError if the file system reports an error.
bool has_file(const fs::path& folder, const char* name);

class FolderHoldsRun : public OutputPathError {
 public:
  FolderHoldsRun(const std::string& message, fs::path folder)
      : OutputPathError(message), folder(std::move(folder)) {}
  fs::path folder;
};

// InputError if `folder` already holds a run or cannot be written to. Creates nothing.
void check_output_folder(const fs::path& folder);

// The same, and InputError if the folder is not empty.
void check_new_run_folder(const fs::path& folder);

// FolderHoldsRun if `folder` holds a run.
void check_holds_no_run(const fs::path& folder);

// check_new_run_folder(), then makes the folder.
void ensure_new_run_folder(const fs::path& folder);

// Whether it is the folder of one agent: it has a config.toml.
bool holds_config(const fs::path& folder);

// `folder`, or if it exists the first of folder_2, folder_3, ... that does not.
fs::path unused_folder(const fs::path& folder);

// InputError unless it is a folder; names the nearest one beside it, or what a run has in the place
// of a missing policy file.
void check_folder(const fs::path& folder);
// InputError that names the policies that the run has.
[[noreturn]] void refuse_missing_policy(const fs::path& policy, const fs::path& run);

// InputError unless `folder` holds the run of one agent; names the first run below it.
void check_run_folder(const fs::path& folder);

// The folder of an agent: the run's own for one seed, seed_<n> inside it for several.
fs::path agent_folder(const fs::path& run, std::span<const std::uint64_t> seeds, std::size_t agent);

// The folder of this seed's agent in a run or a population; nullopt: there is none.
std::optional<fs::path> find_agent(const fs::path& run, std::uint64_t seed);

// Turns the folder of one agent into the folder of a population of one, to which others can be
// added. Completes a move that was interrupted; leaves a population as it is.
void make_population(const fs::path& folder, const std::string& command);

void write_config(const fs::path& folder, const Config& config, const std::string& command);
Config read_config(const Folder& folder);

// Makes the run's copy of its task file known, as the task of that path and SHA-256; does nothing
// if it has none. `config`: the file of the settings.
void use_own_task_file(const fs::path& config, const std::vector<Setting>& settings);

inline PolicyOrigin origin_of(const Config& config) {
  return {config.task, config.algorithm, config.seed};
}

// The agents of a population. population.toml is written before the first of them, so that a run
// that is killed at its start can be resumed.
struct Population {
  Config config;
  std::vector<std::uint64_t> seeds;
};
void write_population(const fs::path& folder, const Population& population,
                      const std::string& command);
std::string to_toml(const Population& population, const std::string& command);
// InputError that begins with `name` if these are not the settings of such a file, or its seeds
// were changed.
Population parse_population(std::vector<Setting> settings, const std::string& name);
// nullopt: there is no population.
std::optional<Population> read_population(const fs::path& folder);
bool holds_population(const fs::path& folder);
// The folder of the population that the agent in `folder` belongs to; links are followed.
std::optional<fs::path> population_above(const fs::path& folder);
// The population of a run; a single agent is a population of one. nullopt: there is no run.
std::optional<Population> read_runs(const fs::path& folder);

}  // namespace ovde
