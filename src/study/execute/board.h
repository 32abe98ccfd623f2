// The cells of a study that are to be run: hands them out to the threads of this process, shares
// them with other processes by CellLocks, and reports what happens to them.
#pragma once

#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_system.h"
#include "study/execute/cell_locks.h"
#include "study/execute/run_study.h"
#include "train/population_run.h"

namespace ovde {

// A cell that is to be run.
struct Job {
  Cell cell;
  Config config;
  bool settled = false;  // running, finished, failed or refused: not taken again
  // Set where another program writes the cell's runs: not tried again for `pause` seconds.
  std::optional<Clock::time_point> held = {};
  double pause = 0;

  double updates_per_epoch() const { return ovde::updates_per_epoch(config.train); }
  double updates() const {
    return updates_per_epoch() * cell.epochs * static_cast<double>(cell.seeds.size());
  }
};

// Whether all its runs in the study's folder are finished.
bool has_finished(const Job& job, const fs::path& study);

// PlanConflict if a cell's folder holds runs with other settings, which are never overwritten and
// never counted as results of this plan.
void check_same_runs(const Config& config, const Config& there);

// The cell as a run: the rest of an existing one, or a new one. An existing one keeps seeds that
// the plan no longer has.
RunPlan plan_cell(const Job& job, const StudyRequest& request);

// Safe to use from several threads; the sink is called by one at a time.
class Board {
 public:
  Board(std::span<Job> jobs, const StudyRequest& request, CellLocks& locks, StudySink& sink)
      : jobs_(jobs), request_(request), locks_(locks), sink_(sink) {}

  bool stopped() const { return request_.stop != nullptr && *request_.stop; }

  // The next job in the order of the plan that no other process has; nullptr: none is left. With
  // `wait`, first waits for the jobs of other processes, which may end without finishing them.
  Job* take(bool wait) {
    return take_if([](const Job&) { return true; }, wait);
  }
  Job* take_if(const std::function<bool(const Job&)>& fits, bool wait);

  // Another process writes the cell's runs without holding its lock.
  void give_back(Job& job, const std::exception& why);
  void epoch_done(const Job& job);
  void warning(const Job& job, const std::string& text);
  void finished(const Job& job);
  // After a PlanConflict other processes may continue the cell.
  void failed(const Job& job, const std::exception& why);

  // Adds the finished and the failed jobs and those of other processes. Rethrows the error of the
  // locks' folder that ended take().
  void add_to(StudyOutcome& outcome) const;

 private:
  bool lock(Job& job);
  void note_failure(const Job& job, const std::string& why, bool in_doubt = false);
  void sleep(double seconds) const;  // returns early when stopped

  std::span<Job> jobs_;
  const StudyRequest& request_;
  CellLocks& locks_;
  StudySink& sink_;
  std::exception_ptr broken_;
  int finished_ = 0, elsewhere_ = 0;
  std::vector<CellFailure> failures_;
  std::mutex jobs_mutex_;  // guards the jobs
  std::mutex mutex_;       // guards the counts and the sink
};

// Trains the board's jobs on the GPU until none is left. `wait`: as Board::take().
void work_on_gpu(const StudyRequest& request, Board& board, bool wait);

// Passes the progress of one cell's runs to the board.
class CellSink final : public ProgressSink {
 public:
  CellSink(const Job& job, Board& board) : job_(job), board_(board) {}
  void epoch_done(int, const EpochRow&) override { board_.epoch_done(job_); }
  void warning(const std::string& text) override { board_.warning(job_, text); }
  void run_finished(std::span<const RunSummary>) override { board_.finished(job_); }

 private:
  const Job& job_;
  Board& board_;
};

}  // namespace ovde
