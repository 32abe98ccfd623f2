// The folder a run leaves behind: which one may be used, what is in it, config.toml and
// summary.json (the other files have headers of their own). A population has one such folder,
// seed_<n>, for each agent. Decides nothing about training.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "run/metrics.h"

namespace ovde {

// InputError if `folder` already holds a run or cannot be written to. Creates nothing.
void check_new_run_folder(const std::filesystem::path& folder);

// InputError if `folder` holds a run, for whoever has just locked it.
void check_holds_no_run(const std::filesystem::path& folder);

// The same as both, then creates the folder.
void ensure_new_run_folder(const std::filesystem::path& folder);

// Whether it has the configuration of one agent's run.
bool holds_config(const std::filesystem::path& folder);

// `folder`, or where there is something of that name already, the next of folder_2, folder_3, ...
std::filesystem::path unused_folder(const std::filesystem::path& folder);

// InputError unless `folder` holds the run of one agent. One that holds a population names its
// agents' folders.
void check_run_folder(const std::filesystem::path& folder);

// Where the agent of each seed writes: the run's own folder for one seed, seed_<n> inside it for
// several.
std::filesystem::path agent_folder(const std::filesystem::path& run,
                                   std::span<const std::uint64_t> seeds, std::size_t agent);

// Where the agent of this seed is, in the folder of a run or of a population; nullopt: it has none.
std::optional<std::filesystem::path> find_agent(const std::filesystem::path& run,
                                                std::uint64_t seed);

// Turns the folder of one agent into that of a population of one, which others can join. Goes on
// where it was interrupted; does nothing to a population.
void make_population(const std::filesystem::path& folder, const std::string& command);

void write_config(const std::filesystem::path& folder, const Config& config,
                  const std::string& command);
Config read_config(const std::filesystem::path& folder);

void write_summary(const std::filesystem::path& folder, const RunSummary& summary);
std::string to_json(const RunSummary& summary);

// The run of one agent is to go on.
void remove_summary(const std::filesystem::path& folder);

// Whether the run of one agent has come to its end.
bool is_finished(const std::filesystem::path& folder);

// The agents of a population. On the disk before the first of them: one that is killed at its very
// start can still be completed.
struct Population {
  Config config;
  std::vector<std::uint64_t> seeds;
};
void write_population(const std::filesystem::path& folder, const Population& population,
                      const std::string& command);
std::string to_toml(const Population& population, const std::string& command);
// InputError that begins with `name` unless these are the settings of such a file, as written.
Population parse_population(std::vector<Setting> settings, const std::string& name);
// nullopt where there is no population.
std::optional<Population> read_population(const std::filesystem::path& folder);
bool holds_population(const std::filesystem::path& folder);
// The folder of the population that the agent in `folder` belongs to, whichever way that is called.
std::optional<std::filesystem::path> population_above(const std::filesystem::path& folder);
// A single run is a population of one; nullopt where there is neither.
std::optional<Population> read_runs(const std::filesystem::path& folder);

}  // namespace ovde
