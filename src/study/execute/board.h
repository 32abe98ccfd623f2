// The cells of a study that are to be run: who takes which, and what becomes of them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>

#include <ovde/error.h>
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
  template <typename Condition>
  Job* take_if(const Condition& fits, bool wait) {
    double pause = kShortestPause;
    std::unique_lock turn(turn_);
    try {
      while (!stopped() && !broken_) {
        elsewhere_ = 0;
        claims_.look(wait ? kProbes : SIZE_MAX);
        // first what nobody has had; whether its holder lives is to be asked of the rest, of some
        // others each time
        for (Job& job : jobs_) {
          const bool is_new = !claims_.is_known(job.cell.folder);
          if (!job.settled && is_new && fits(job) && claim(job)) return &job;
        }
        first_asked_ += kProbes;
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
          Job& job = jobs_[(first_asked_ + i) % jobs_.size()];
          const bool is_known = claims_.is_known(job.cell.folder);
          if (!job.settled && is_known && fits(job) && claim(job)) return &job;
        }
        if (elsewhere_ == 0 || !wait) return nullptr;
        turn.unlock();
        sleep(pause);
        pause = std::min(1.5 * pause, longest_pause());
        turn.lock();
      }
    } catch (const std::exception&) {  // of the claims' folder
      broken_ = std::current_exception();
    }
    return nullptr;
  }

  // Another process is writing its runs, by whatever way it came to that.
  void give_back(Job& job, const std::exception& why) {
    if (!job.held) warning(job, why.what());
    const std::lock_guard turn(turn_);
    claims_.give_back(job.cell.folder);
    job.settled = false;
    // soon the first time: of a process that is killed, the claim may go before the lock of the run
    job.held = Clock::now();
    job.pause = std::min(std::max(2 * job.pause, kShortestPause), request_.patience);
  }
  void epoch_done(const Job& job) {
    const std::lock_guard lock(mutex_);
    sink_.epoch_done(job.cell, job.updates_per_epoch());
  }
  void warning(const Job& job, const std::string& text) {
    const std::lock_guard lock(mutex_);
    sink_.warning(fmt::format("{} / {}: {}", job.cell.row, job.cell.column, text));
  }
  void finished(const Job& job) {
    claims_.finish(job.cell.folder);
    const std::lock_guard lock(mutex_);
    ++finished_;
    sink_.cell_finished(job.cell);
  }
  void failed(const Job& job, const std::string& why) {
    try {
      claims_.fail(job.cell.folder, why);
    } catch (const Error&) {  // the disk may be the reason
    }
    note_failure(job, why);
  }

  int finished_count() const { return finished_; }
  int elsewhere_count() const { return elsewhere_; }
  const std::vector<CellFailure>& failures() const { return failures_; }
  void check() const {
    if (broken_) std::rethrow_exception(broken_);
  }

 private:
  static constexpr double kShortestPause = 0.1;  // seconds
  static constexpr std::size_t kProbes = 8;
  double longest_pause() const { return request_.patience / 6; }

  bool claim(Job& job) {
    if (const auto why = claims_.failure(job.cell.folder)) {
      job.settled = true;
      note_failure(job, *why);
      return false;
    }
    const bool was_held = job.held && seconds_since(*job.held) < job.pause;
    if (was_held || claims_.is_taken(job.cell.folder)) {
      ++elsewhere_;
      return false;
    }
    if (!claims_.is_known(job.cell.folder) && has_finished(job, request_.out)) {
      settle_finished(job);
      return false;
    }
    if (!claims_.take(job.cell.folder)) {
      ++elsewhere_;
      return false;
    }
    if (has_finished(job, request_.out)) {  // since the last look, or by one that died then
      claims_.finish(job.cell.folder);
      settle_finished(job);
      return false;
    }
    job.settled = true;
    const std::lock_guard lock(mutex_);
    sink_.cell_started(job.cell);
    return true;
  }

  void settle_finished(Job& job) {
    job.settled = true;
    const std::lock_guard lock(mutex_);
    ++finished_;
    sink_.cell_finished_elsewhere(job.cell, job.updates());
  }

  void note_failure(const Job& job, const std::string& why) {
    const std::lock_guard lock(mutex_);
    const std::filesystem::path folder = request_.out / job.cell.folder;
    failures_.push_back({job.cell.row, job.cell.column, folder, why});
    sink_.cell_failed(job.cell, why);
  }

  // As long as nobody wishes to stop.
  void sleep(double seconds) const {
    const auto began = Clock::now();
    while (!stopped() && seconds_since(began) < seconds)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

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
