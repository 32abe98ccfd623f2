#include "train/trainer.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include <ovde/error.h>
#include "math/team.h"
#include "train/agent_run.h"
#include "train/policy_file.h"
#include "train/run_folder.h"
#include "train/setup.h"
#include "train/version.h"

namespace ovde {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// An agent with its folder.
class Member {
 public:
  Member(const Config& config, std::uint64_t seed, std::filesystem::path folder,
         const std::string& command)
      : config_(config), folder_(std::move(folder)), run_(config, seed) {
    config_.seed = seed;
    ensure_new_run_folder(folder_);
    write_config(folder_, config_, command);
    progress_ = std::make_unique<ProgressFile>(folder_);
  }

  int epochs_done() const { return run_.epochs_done(); }

  EpochRow epoch(Team& team, Clock::time_point start) {
    const auto begin = Clock::now();
    const std::int64_t steps_before = rows_.empty() ? 0 : rows_.back().env_steps;
    EpochRow row = run_.epoch(team);
    row.steps_per_second = static_cast<double>(row.env_steps - steps_before) / seconds_since(begin);
    row.seconds = seconds_since(start);
    progress_->append(row);
    rows_.push_back(row);
    return row;
  }

  RunSummary finish() {
    write_policy(folder_ / "policy.safetensors", run_.agent().learner().actor_shape(),
                 run_.agent().learner().actor(), task_action_space(config_), config_, run_.seed());
    RunSummary summary = summarise(rows_);
    summary.task = config_.task;
    summary.algorithm = config_.algorithm;
    summary.seed = run_.seed();
    summary.version = version();
    write_summary(folder_, summary);
    return summary;
  }

 private:
  Config config_;
  std::filesystem::path folder_;
  AgentRun run_;
  std::unique_ptr<ProgressFile> progress_;
  std::vector<EpochRow> rows_;
};

// Hands out the agents of a population, the one that is furthest behind first. Agents never wait
// for each other, and what an agent learns does not depend on who runs it.
class Schedule {
 public:
  Schedule(std::vector<Member>& members, int epochs)
      : members_(members), busy_(members.size()), epochs_(epochs) {}

  // Index of the next agent to advance, or -1 when none is left that is not already being advanced.
  int take() {
    const std::lock_guard lock(mutex_);
    int next = -1;
    for (int i = 0; i < static_cast<int>(members_.size()); ++i) {
      if (busy_[i] || members_[i].epochs_done() >= epochs_) continue;
      if (next < 0 || members_[i].epochs_done() < members_[next].epochs_done()) next = i;
    }
    if (next >= 0) busy_[next] = true;
    return stopped_ ? -1 : next;
  }
  void give_back(int index) {
    const std::lock_guard lock(mutex_);
    busy_[index] = false;
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }

 private:
  std::vector<Member>& members_;
  std::vector<char> busy_;
  int epochs_;
  bool stopped_ = false;
  std::mutex mutex_;
};

}  // namespace

void train(const TrainRequest& request, ProgressSink& progress) {
  const int epochs = request.config.train.integer("epochs");
  const auto population = static_cast<int>(request.seeds.size());

  check_new_run_folder(request.out);
  std::vector<Member> members;
  members.reserve(request.seeds.size());
  for (std::size_t i = 0; i < request.seeds.size(); ++i) {
    members.emplace_back(request.config, request.seeds[i],
                         agent_folder(request.out, request.seeds, i), request.command);
  }

  RunStart start{.task = request.config.task,
                 .algorithm = request.config.algorithm,
                 .seeds = request.seeds,
                 .epochs = epochs,
                 .updates_per_epoch = request.config.train.integer("steps_per_epoch"),
                 .epochs_done = 0,
                 .folder = request.out};
  progress.run_started(start);

  // one agent uses the threads inside its updates; several have a thread each
  const auto begin = Clock::now();
  Schedule schedule(members, epochs);
  const auto work = [&](int threads_inside) {
    Team team(threads_inside);
    for (int i = schedule.take(); i >= 0; i = schedule.take()) {
      const EpochRow row = members[i].epoch(team, begin);
      progress.epoch_done(i, row);
      schedule.give_back(i);
    }
  };
  if (population == 1) {
    work(request.threads);
  } else {
    Team team(std::min(request.threads, population));
    team.run(team.threads(), [&](int) {
      try {
        work(1);
      } catch (...) {
        schedule.stop();
        throw;
      }
    });
  }

  std::vector<RunSummary> summaries;
  for (Member& member : members) summaries.push_back(member.finish());
  progress.run_finished(summaries);
}

}  // namespace ovde
