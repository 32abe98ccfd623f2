// Runs what is left of a plan: cells side by side, each a population of its seeds. What is finished
// is skipped, what was cut off goes on, and a cell that fails does not stop the others. How a run
// is trained and saved is src/train's business.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "config/config.h"
#include "study/plan/plan.h"
#include "train/lockstep.h"

namespace ovde {

struct StudyRequest {
  Plan plan;
  std::filesystem::path out;  // the study's folder; one that holds results is completed
  bool smoke = false;         // the plan was made small by smoke_plan()
  int jobs = 0;               // cells at a time, on the CPU; 0: as many as keep the threads busy
  int threads = 1;            // of all jobs together
  std::string command = {};   // written into the runs' config.toml
  const std::atomic<bool>* stop = nullptr;  // becomes true: save and return
  // On a GPU: cells that are in step are one population, and those of algorithms that do not run
  // there come after them, on the CPU. Empty: all on the CPU.
  GpuDevice gpu = {};
};

struct CellFailure {
  std::string row, column;
  std::filesystem::path folder;
  std::string why;
};

struct StudyOutcome {
  int cells = 0;     // that are different runs
  int finished = 0;  // of those, now
  std::vector<CellFailure> failures;
  bool stopped = false;  // before the end, because it was asked to
};

struct StudyStart {
  std::string name;
  std::filesystem::path folder;
  int cells = 0, finished = 0, runs = 0;
  int jobs = 1, threads_per_job = 1;
  double updates = 0;       // of all the cells that are not finished
  double updates_done = 0;  // of those
};

// Told how the study goes; does nothing of it unless overridden. Calls come one at a time, from any
// thread.
class StudySink {
 public:
  virtual ~StudySink() = default;
  virtual void study_started(const StudyStart&) {}
  virtual void cell_started(const Cell&) {}
  virtual void epoch_done(const Cell&, double /*updates*/) {}
  virtual void cell_finished(const Cell&) {}
  virtual void cell_failed(const Cell&, const std::string& /*why*/) {}
  virtual void study_finished(const StudyOutcome&) {}
  virtual void warning(const std::string&) {}
};

// InputError if the plan's settings are wrong, the folder cannot be used or another process is
// running a study in it.
StudyOutcome run_study(const StudyRequest& request, StudySink& sink);

// The cells that are different runs: of those that share a folder, the first.
std::vector<Cell> distinct_cells(const Plan& plan);

// Whether all runs of the cell, whose settings come to `config`, have come to their end. InputError
// if its folder holds other runs than the plan asks for.
bool is_cell_finished(const std::filesystem::path& study, const Cell& cell, const Config& config);

}  // namespace ovde
