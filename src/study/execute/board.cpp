#include "study/execute/board.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "run/run_folder.h"
#include "study/plan/study_record.h"

namespace ovde {

namespace {

constexpr double kShortestPause = 0.1, kLongestPause = 2;  // seconds

}  // namespace

bool has_finished(const Job& job, const fs::path& study) {
  try {
    return is_cell_finished(study, job.cell, job.config);
  } catch (const std::exception&) {
    return false;  // plan_cell() reports it
  }
}

void check_same_runs(const Config& config, const Config& there) {
  if (const auto conflicts = conflicting_settings(config, there); !conflicts.empty())
    throw PlanConflict(fmt::format("its runs have other settings than the plan: the plan has {}",
                                   fmt::join(conflicts, ", ")));
}

RunPlan plan_cell(const Job& job, const StudyRequest& request) {
  const fs::path folder = request.out / job.cell.folder;
  const auto there = read_runs(folder);
  if (!there) return plan_new_run(job.config, job.cell.seeds, folder, request.command);
  check_same_runs(job.config, there->config);
  RunPlan plan = plan_rest_of_run(folder, request.command, job.config.train.epochs);
  for (const std::uint64_t seed : job.cell.seeds) {
    if (std::ranges::find(plan.seeds, seed) == plan.seeds.end()) plan.seeds.push_back(seed);
  }
  return plan;
}

Job* Board::take_if(const std::function<bool(const Job&)>& fits, bool wait) {
  double pause = kShortestPause;
  std::unique_lock guard(jobs_mutex_);
  try {
    while (!stopped() && !broken_) {
      elsewhere_ = 0;
      for (Job& job : jobs_) {
        if (!job.settled && fits(job) && lock(job)) return &job;
      }
      if (elsewhere_ == 0 || !wait) return nullptr;
      guard.unlock();
      sleep(pause);
      pause = std::min(1.5 * pause, kLongestPause);
      guard.lock();
    }
  } catch (const std::exception&) {
    broken_ = std::current_exception();
  }
  return nullptr;
}

void Board::give_back(Job& job, const std::exception& why) {
  if (!job.held) warning(job, why.what());
  const std::lock_guard guard(jobs_mutex_);
  locks_.release(job.cell.folder);
  job.settled = false;
  job.held = Clock::now();
  job.pause = std::clamp(2 * job.pause, kShortestPause, kLongestPause);
}

void Board::epoch_done(const Job& job) {
  const std::lock_guard guard(mutex_);
  sink_.epoch_done(job.cell, job.updates_per_epoch());
}

void Board::warning(const Job& job, const std::string& text) {
  const std::lock_guard guard(mutex_);
  sink_.warning(fmt::format("{}: {}", job.cell.title(), text));
}

void Board::finished(const Job& job) {
  locks_.finish(job.cell.folder);
  const std::lock_guard guard(mutex_);
  ++finished_;
  sink_.cell_finished(job.cell);
}

void Board::failed(const Job& job, const std::exception& why) {
  if (dynamic_cast<const PlanConflict*>(&why) != nullptr) {
    locks_.release(job.cell.folder);
  } else {
    locks_.fail(job.cell.folder, why.what());
  }
  note_failure(job, why.what());
}

void Board::add_to(StudyOutcome& outcome) const {
  if (broken_) std::rethrow_exception(broken_);
  outcome.finished += finished_;
  outcome.elsewhere += elsewhere_;
  outcome.failures.insert(outcome.failures.end(), failures_.begin(), failures_.end());
}

bool Board::lock(Job& job) {
  const bool written_elsewhere = job.held && seconds_since(*job.held) < job.pause;
  if (written_elsewhere) {
    ++elsewhere_;
    return false;
  }
  const std::string& cell = job.cell.folder;
  if (const auto why = locks_.failure(cell)) {
    job.settled = true;
    note_failure(job, *why);
    return false;
  }
  const CellLocks::Attempt attempt = locks_.take(cell);
  if (attempt.outcome == CellLocks::Outcome::held) {
    ++elsewhere_;
    return false;
  }
  job.settled = true;
  if (attempt.outcome != CellLocks::Outcome::taken) {
    note_failure(job, attempt.why, attempt.outcome == CellLocks::Outcome::in_doubt);
    return false;
  }
  if (has_finished(job, request_.out)) {  // another process has finished it
    locks_.finish(cell);
    const std::lock_guard guard(mutex_);
    ++finished_;
    sink_.cell_finished_elsewhere(job.cell, job.updates());
    return false;
  }
  const std::lock_guard guard(mutex_);
  sink_.cell_started(job.cell);
  return true;
}

void Board::note_failure(const Job& job, const std::string& why, bool in_doubt) {
  const std::lock_guard guard(mutex_);
  const fs::path folder = request_.out / job.cell.folder;
  failures_.push_back({job.cell.row, job.cell.column, folder, why, in_doubt});
  sink_.cell_failed(job.cell, why);
}

void Board::sleep(double seconds) const {
  const auto began = Clock::now();
  while (!stopped() && seconds_since(began) < seconds)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

}  // namespace ovde
