// The cells of a study that are to be run: who takes which, and what becomes of them.
#pragma once

#include <cstddef>
#include <exception>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/clock.h"
#include "study/execute/claims.h"
#include "study/execute/run_study.h"
#include "train/population_run.h"
#include "train/progress.h"

namespace ovde {

// A cell that is to be run.
struct Job {
  Cell cell;
  Config config;
  bool settled = false;  // nothing is left to do for this process
  // when it was found to be written by another process, and for how long it is not tried again
  std::optional<Clock::time_point> held = {};
  double pause = 0;  // seconds

  double updates_per_epoch() const { return ovde::updates_per_epoch(config.train); }
  double updates() const {
    return updates_per_epoch() * cell.epochs * static_cast<double>(cell.seeds.size());
  }
};

// Whether nothing is left of it in the study's folder.
bool has_finished(const Job& job, const std::filesystem::path& study);

// InputError if a cell's folder holds runs with other settings: it is never overwritten, and
// results of another plan are never taken for this one's.
void check_same_runs(const Config& config, const Config& there);

// The cell as a run: what is left of one that is there, otherwise a new one. It keeps the seeds
// that the plan no longer asks for.
RunPlan plan_cell(const Job& job, const StudyRequest& request);

// Hands out the jobs that no other process has, in the order of the plan, and passes on, one at a
// time, what is reported.
class Board {
 public:
  Board(std::span<Job> jobs, const StudyRequest& request, Claims& claims, StudySink& sink)
      : jobs_(jobs), request_(request), claims_(claims), sink_(sink) {}

  bool stopped() const { return request_.stop != nullptr && *request_.stop; }

  // nullptr: there is none for this process. With `wait`, only if no other process has one, which
  // might die.
  Job* take(bool wait) {
    return take_if([](const Job&) { return true; }, wait);
  }
  Job* take_if(const std::function<bool(const Job&)>& fits, bool wait);

  // Another process is writing its runs, by whatever way it came to that.
  void give_back(Job& job, const std::exception& why);
  void epoch_done(const Job& job);
  void warning(const Job& job, const std::string& text);
  void finished(const Job& job);
  void failed(const Job& job, const std::string& why);

  int finished_count() const { return finished_; }
  int elsewhere_count() const { return elsewhere_; }
  const std::vector<CellFailure>& failures() const { return failures_; }
  // Throws what has broken it.
  void check() const;

 private:
  bool claim(Job& job);
  void settle_finished(Job& job);
  void note_failure(const Job& job, const std::string& why);
  // As long as nobody wishes to stop.
  void sleep(double seconds) const;

  std::span<Job> jobs_;
  const StudyRequest& request_;
  Claims& claims_;
  StudySink& sink_;
  std::exception_ptr broken_;
  std::size_t first_asked_ = static_cast<std::size_t>(::getpid());
  int finished_ = 0, elsewhere_ = 0;
  std::vector<CellFailure> failures_;
  std::mutex turn_;   // of the jobs and the claims' last look
  std::mutex mutex_;  // of what is counted, and of the sink
};

// What the trainer says of one cell, for the board.
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
