// What the runs of a study came to, read from its folder. Only runs that have finished count, or
// that have as many epochs as are asked for; a cell whose runs are not there, or were made with
// other settings, is empty.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "stats/bootstrap.h"
#include "study/plan/plan.h"

namespace ovde {

// The first line of a report's tables/runs.csv.
inline constexpr const char* kRunsHeader =
    "row,column,task,algorithm,seed,epochs,score,first_goal_epoch,wall_seconds";

struct RunResult {
  std::uint64_t seed = 0;
  double score = 0;
  std::optional<int> first_goal_epoch = {};  // of the evaluation (FRG)
  bool has_goal = false;                     // the task has one to reach
  double wall_seconds = 0;
  std::vector<double> returns = {};    // of the evaluation, epoch by epoch; NaN: there was none
  std::vector<double> env_steps = {};  // that its policy had seen then
};

struct CellResult {
  Cell cell;
  std::vector<RunResult> runs;      // in the order of the seeds; those that finished
  std::vector<Setting> asked = {};  // beyond the defaults, of the first of them

  std::vector<double> scores() const;
  int reached_goal() const;  // runs that did
  bool has_goal() const;     // false also where there are no runs
  // Earliest of any run, as the paper's tables have it.
  std::optional<int> earliest_goal() const;
};

struct StudyResults {
  Plan plan;
  bool smoke = false;
  std::vector<CellResult> cells;   // in the order of expand()
  std::vector<std::string> notes;  // why a cell that has files is empty
  // Runs that count although they have not ended, as "seed 3 of runs/a: epoch 40 of 100".
  std::vector<std::string> unfinished = {};
  std::optional<int> first_epochs = {};  // of each run no more than these count

  // Of a row and a column that the plan has; nullptr: its algorithm does not exist.
  const CellResult* find(const std::string& row, const std::string& column) const;
  // The columns whose algorithm exists.
  std::vector<const PlanColumn*> columns() const;
  std::vector<std::string> row_names() const;
  // Those whose runs are their own: a run that stands in several rows counts in the first.
  std::vector<std::string> distinct_rows() const;
  bool any_runs() const;
  bool shows(const std::string& what) const;
  bool measures(const std::string& what) const;
};

// Each row's scores on one scale, by column: 0 the lowest of any run, 1 the highest (Agarwal et al.
// 2021), of the distinct rows that have runs.
std::map<std::string, Strata> normalised_scores(const StudyResults& results);

// The settings that the results of a run depend on and that are not what the plan asks for, as
// differences_read() names them. Seeds are the cell's business; when a run is saved and what it
// records changes nothing.
std::vector<std::string> foreign_settings(Config asked, const Config& there);

// What was set beyond the defaults of a run, as far as its results depend on it and its seed does
// not say it.
std::vector<Setting> asked_of(const std::filesystem::path& run);

// Of one finished run; InputError unless it has so many epochs.
RunResult read_run(const std::filesystem::path& folder, std::uint64_t seed, int epochs);

// Adds what there is of a run, finished or not, to the runs of a cell; `out` notes that it has not.
void add_run(const std::filesystem::path& folder, const Config& config, CellResult& cell,
             StudyResults& out);

// With `first_epochs`, of the first so many epochs of every run that has them, finished or not;
// cells that have fewer epochs count as they are.
StudyResults read_results(Plan plan, const std::filesystem::path& study,
                          std::optional<int> first_epochs = {});

// The same from a report's tables/runs.csv alone: scores and first epochs at the goal, no curves
// and no maps. InputError, with the line, where it names a cell that the plan does not have.
StudyResults results_of_table(Plan plan, const std::filesystem::path& runs_csv);
// The settings of its runs, which the table does not have: those of the plan.
void add_asked_by_plan(StudyResults& results);

// A single run, or a population, as a study of one cell, so that it can be reported on like any
// other. Runs that have not ended count with what they have. InputError if the folder holds no run,
// or none that has ended an epoch.
StudyResults results_of_run(const std::filesystem::path& folder);

}  // namespace ovde
