// Runs the unfinished cells of a plan side by side, each as a population of its seeds. Finished
// cells are skipped, interrupted ones continue, and a cell that fails does not stop the others.
// Where only runtimes are compared, runs take turns one at a time. Several processes of one machine
// may run a study in one folder. src/train trains and saves the runs.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "config/config.h"
#include "study/plan/plan.h"
#include "train/lockstep.h"

namespace ovde {

// A larger population on one GPU takes as long as two of half the size after each other.
constexpr std::size_t kMostAgentsTogether = 512;

struct StudyRequest {
  Plan plan;
  fs::path out;              // the study's folder
  std::string cells = {};    // for chosen_cells(); empty: all
  bool wait = true;          // for cells of other processes, to continue those that die
  bool take_over = false;    // take cells whose holder may be running elsewhere
  int jobs = 0;              // cells at a time on the CPU; 0: chosen automatically
  int threads = 1;           // for all jobs together
  std::string command = {};  // written into the runs' config.toml
  const std::atomic<bool>* stop = nullptr;  // set: save and return
  // Trains cells that are in step as one population on this GPU, then those of algorithms without
  // GPU support on the CPU. Empty: all on the CPU.
  GpuDevice gpu = {};
};

struct CellFailure {
  std::string row, column;
  fs::path folder;
  std::string why;
  bool in_doubt = false;  // not tried: its process may be running elsewhere, see take_over
};

struct StudyOutcome {
  int cells = 0;  // asked for
  int finished = 0;
  int elsewhere = 0;  // running in other processes
  std::vector<CellFailure> failures;
  bool stopped = false;  // by `stop`, before the end
};

struct StudyStart {
  std::string name;
  fs::path folder;
  int cells = 0, finished = 0, runs = 0;
  int jobs = 1, threads_per_job = 1;
  double updates = 0;       // in all unfinished cells
  double updates_done = 0;  // so far
};

// Receives the progress of a study. Calls come one at a time, from any thread.
class StudySink {
 public:
  virtual ~StudySink() = default;
  virtual void study_started(const StudyStart&) {}
  virtual void cell_started(const Cell&) {}
  virtual void epoch_done(const Cell&, double /*updates*/) {}
  virtual void cell_finished(const Cell&) {}
  // Another process has finished the cell, which has this many updates.
  virtual void cell_finished_elsewhere(const Cell&, double /*updates*/) {}
  virtual void cell_failed(const Cell&, const std::string& /*why*/) {}
  virtual void study_finished(const StudyOutcome&) {}
  virtual void warning(const std::string&) {}
};

// Makes the study's folder and records the plan in it. InputError if the folder cannot be used for
// this plan; nothing is written then.
void prepare_study(const StudyRequest& request);

// The unfinished cells among those asked for. InputError if a setting of the plan is wrong.
std::vector<Cell> cells_left(const StudyRequest& request);

// InputError if the plan's settings are wrong or the folder cannot be used.
StudyOutcome run_study(const StudyRequest& request, StudySink& sink);

// The cells that this program runs, each once: the first of those that share a folder.
std::vector<Cell> distinct_cells(const Plan& plan);

// The distinct cells that `selection` names: "0-3,7" by their place in the plan, "a/DSAC" and "a/*"
// by their folders. InputError if it names a cell that does not exist.
std::vector<Cell> chosen_cells(const Plan& plan, const std::string& selection);

// Whether all runs of the cell, whose settings resolve to `config`, are finished. InputError if its
// folder holds runs with other settings.
bool is_cell_finished(const fs::path& study, const Cell& cell, const Config& config);

}  // namespace ovde
