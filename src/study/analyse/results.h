// The results of a study's runs, read from their folders or from a report's table. Only finished
// runs count, or runs with the number of epochs that is asked for. A cell without runs, or with
// runs of other settings, is empty.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "config/config.h"
#include "run/metrics.h"
#include "stats/bootstrap.h"
#include "study/plan/plan.h"

namespace ovde {

// The first line of a report's tables/runs.csv, and two columns that may follow: when exploring
// first reached the goal, if all runs of this program have recorded it; and whether a run has a
// goal, if there are runs of other programs, which may not record it.
inline constexpr const char* kRunsHeader =
    "row,column,task,algorithm,seed,epochs,score,first_goal_epoch,wall_seconds";
inline constexpr const char *kExploreColumn = "first_goal_epoch_explore", *kGoalColumn = "has_goal";

// The most rows that the curve of a finished run has.
inline constexpr std::size_t kCurvePoints = 200;

struct RunResult {
  std::uint64_t seed = 0;
  double score = 0;
  std::optional<int> first_goal_epoch = {};  // first epoch whose evaluation reached the goal (FRG)
  std::optional<int> first_goal_epoch_explore = {};  // first to reach it while exploring
  bool knows_explore = false;                        // whether that was recorded
  bool has_goal = false;                             // whether reaching a goal was recorded
  double wall_seconds = 0;
  std::vector<double> returns = {};    // evaluation return of each epoch; NaN: not evaluated
  std::vector<double> env_steps = {};  // environment steps at the end of each epoch
  std::vector<EpochRow> curve = {};    // every measure: curve_of() the run
};

// The rows of a run as at most `most`: each is the mean of several, with the epoch and the steps of
// the last of them. length: rows of the whole run.
std::vector<EpochRow> curve_of(std::span<const EpochRow> rows, std::size_t length,
                               std::size_t most);

struct CellResult {
  Cell cell;
  std::vector<RunResult> runs = {};  // in the order of the seeds
  std::vector<Setting> asked = {};   // settings of the first run that are not defaults

  std::vector<double> scores() const;
  int reached_goal() const;                  // number of runs
  std::optional<int> explored_goal() const;  // the same while exploring; nullopt: not known
  bool has_goal() const;                     // false also without runs
  std::optional<int> earliest_goal() const;  // earliest of all runs, as in the paper's tables
};

struct StudyResults {
  Plan plan;
  std::vector<CellResult> cells;   // in the order of expand()
  std::vector<std::string> notes;  // why a cell that has files is empty
  // Unfinished runs that count, as "seed 3 of runs/a: epoch 40 of 100".
  std::vector<std::string> unfinished = {};
  std::optional<int> first_epochs = {};  // epochs of each run that count; nullopt: all
  bool same_runs = false;                // the runs of a column are the same in every row

  // The cell of a row and a column; Error if the plan does not have it.
  const CellResult& find(const std::string& row, const std::string& column) const;
  std::vector<std::string> row_names() const;
  // The rows without those that repeat the runs of an earlier row.
  std::vector<std::string> distinct_rows() const;
  bool any_runs() const;
  bool shows(const std::string& what) const;
  bool measures(const std::string& what) const;
};

// A finished run; InputError unless it has this many epochs.
RunResult read_run(const fs::path& folder, std::uint64_t seed, int epochs);

// The settings of a run that are not defaults and that its results depend on.
std::vector<Setting> asked_of(const fs::path& run);

// Adds a run, finished or not, to a cell of `out`, which lists it if it is unfinished.
void add_run(const fs::path& folder, const Config& config, CellResult& cell, StudyResults& out);

// With `first_epochs`, each run counts with that number of epochs, if it has done them, finished or
// not; a cell with fewer epochs in the plan counts with its own number.
StudyResults read_results(Plan plan, const fs::path& study, std::optional<int> first_epochs = {});

// Results from a report's tables/runs.csv alone: scores and first epochs at the goal, no curves and
// no maps. InputError with file and line for a row that is not a run of the plan: another cell,
// task, algorithm or number of epochs, a seed that is repeated or not in the plan, a value that is
// out of range.
StudyResults results_of_table(Plan plan, const fs::path& runs_csv);

// A single run, or a population, as a study of one cell. Unfinished runs count with the epochs they
// have. InputError if the folder holds no run with at least one epoch.
StudyResults results_of_run(const fs::path& folder);

// A row or a column: the task or algorithm, and the settings that are not defaults.
struct RunKind {
  std::string base;
  std::map<std::string, std::string> asked;  // key -> value, as TOML writes it
  bool operator==(const RunKind&) const = default;
};

struct FoundRun {
  fs::path folder;
  Config config;
  RunKind row, column;  // settings of the task and its disturbances belong to the row
};

// The runs in these folders, which hold runs or populations, each once; a folder without runs is
// noted. InputError if a run cannot be read.
std::vector<FoundRun> find_runs(std::span<const fs::path> folders, std::vector<std::string>& notes);

// The task or algorithm, followed by the settings in which several kinds of it differ: "ovde_g
// explore.alpha = 0.1".
std::string name_of(const RunKind& kind, const std::vector<RunKind>& all);

// Runs that were not planned as a study, as one: tasks are rows, algorithms with their settings are
// columns, and runs of the same task, algorithm and settings are one cell. The column of the first
// run is the baseline of all tests. `folders` hold runs or populations. InputError if there is
// nothing to compare.
StudyResults compare_runs(std::span<const fs::path> folders);

}  // namespace ovde
