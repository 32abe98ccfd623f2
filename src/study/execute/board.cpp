#include "study/execute/board.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "config/stored_config.h"
#include "run/run_folder.h"
#include "study/analyse/results.h"

namespace ovde {

namespace fs = std::filesystem;

namespace {

constexpr double kShortestPause = 0.1;  // seconds
constexpr std::size_t kProbes = 8;

// Whether all that differs is that the plan asks for more epochs.
bool asks_for_more_epochs(const Config& config, const Config& there) {
  return config.train.epochs > there.train.epochs &&
         foreign_settings(config, train_longer(there, config.train.epochs)).empty();
}

}  // namespace

bool has_finished(const Job& job, const fs::path& study) {
  try {
    return is_cell_finished(study, job.cell, job.config);
  } catch (const std::exception&) {
    return false;  // reported when its turn comes
  }
}

void check_same_runs(const Config& config, const Config& there) {
  if (asks_for_more_epochs(config, there)) return;
  if (const auto foreign = foreign_settings(config, there); !foreign.empty()) {
    throw InputError(
        fmt::format("its folder holds runs with other settings ({}); remove it, or choose another "
                    "folder for the study",
                    fmt::join(foreign, ", ")));
  }
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
      pause = std::min(1.5 * pause, request_.patience / 6);
      turn.lock();
    }
  } catch (const std::exception&) {  // of the claims' folder
    broken_ = std::current_exception();
  }
  return nullptr;
}

void Board::give_back(Job& job, const std::exception& why) {
  if (!job.held) warning(job, why.what());
  const std::lock_guard turn(turn_);
  claims_.give_back(job.cell.folder);
  job.settled = false;
  // soon the first time: of a process that is killed, the claim may go before the lock of the run
  job.held = Clock::now();
  job.pause = std::min(std::max(2 * job.pause, kShortestPause), request_.patience);
}

void Board::epoch_done(const Job& job) {
  const std::lock_guard lock(mutex_);
  sink_.epoch_done(job.cell, job.updates_per_epoch());
}

void Board::warning(const Job& job, const std::string& text) {
  const std::lock_guard lock(mutex_);
  sink_.warning(fmt::format("{} / {}: {}", job.cell.row, job.cell.column, text));
}

void Board::finished(const Job& job) {
  claims_.finish(job.cell.folder);
  const std::lock_guard lock(mutex_);
  ++finished_;
  sink_.cell_finished(job.cell);
}

void Board::failed(const Job& job, const std::string& why) {
  try {
    claims_.fail(job.cell.folder, why);
  } catch (const Error&) {  // the disk may be the reason
  }
  note_failure(job, why);
}

void Board::check() const {
  if (broken_) std::rethrow_exception(broken_);
}

bool Board::claim(Job& job) {
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

void Board::settle_finished(Job& job) {
  job.settled = true;
  const std::lock_guard lock(mutex_);
  ++finished_;
  sink_.cell_finished_elsewhere(job.cell, job.updates());
}

void Board::note_failure(const Job& job, const std::string& why) {
  const std::lock_guard lock(mutex_);
  const std::filesystem::path folder = request_.out / job.cell.folder;
  failures_.push_back({job.cell.row, job.cell.column, folder, why});
  sink_.cell_failed(job.cell, why);
}

void Board::sleep(double seconds) const {
  const auto began = Clock::now();
  while (!stopped() && seconds_since(began) < seconds)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

}  // namespace ovde
