// Runs what is left of a plan: cells side by side, each a population of its seeds; where runtimes
// are compared, runs one at a time and cells in turns. What is finished is skipped, what was cut
// off goes on, and a cell that fails does not stop the others. Any number of processes may do so in
// one folder, on any machines. How a run is trained and saved is src/train's business.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "config/config.h"
#include "study/plan/plan.h"
#include "train/lockstep.h"

namespace ovde {

// Past this, a population on one GPU takes as long as two after each other.
constexpr std::size_t kMostAgentsTogether = 512;

struct StudyRequest {
  Plan plan;
  std::filesystem::path out;  // the study's folder; one that holds results is completed
  bool smoke = false;         // the plan was made small by smoke_plan()
  std::string cells = {};     // which of them, for chosen_cells(); empty: all
  // Whether to wait for cells that other processes run, to go on with them if those should die.
  bool wait = true;
  double patience = 60;  // seconds without a sign of life after which others take over its cells
  int jobs = 0;          // cells at a time, on the CPU; 0: as many as keep the threads busy
  int threads = 1;       // of all jobs together
  std::string command = {};                 // written into the runs' config.toml
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
  int cells = 0;      // that are different runs, and were asked for
  int finished = 0;   // of those, now
  int elsewhere = 0;  // that other processes run
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
  // By another process. `updates` were its.
  virtual void cell_finished_elsewhere(const Cell&, double /*updates*/) {}
  virtual void cell_failed(const Cell&, const std::string& /*why*/) {}
  virtual void study_finished(const StudyOutcome&) {}
  virtual void warning(const std::string&) {}
};

// Makes the study's folder, where it is not there. InputError if it cannot be used for this.
void prepare_study(const StudyRequest& request);

// The cells that are asked for and not finished. InputError if any setting of the plan is wrong.
std::vector<Cell> cells_left(const StudyRequest& request);

// InputError if the plan's settings are wrong or the folder cannot be used.
StudyOutcome run_study(const StudyRequest& request, StudySink& sink);

// The cells that are run here, each once: of those that share a folder, the first.
std::vector<Cell> distinct_cells(const Plan& plan);

// Of those, the ones that `selection` names: "0-3,7" by their place in the plan, "a/DSAC" and "a/*"
// by their folders. InputError if it names something that is not there.
std::vector<Cell> chosen_cells(const Plan& plan, const std::string& selection);

// Whether all runs of the cell, whose settings come to `config`, have come to their end. InputError
// if its folder holds other runs than the plan asks for.
bool is_cell_finished(const std::filesystem::path& study, const Cell& cell, const Config& config);

}  // namespace ovde
