#include "train/trainer.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include <fmt/format.h>

#include <ovde/error.h>
#include "math/team.h"
#include "train/member.h"
#include "train/progress_csv.h"
#include "train/run_folder.h"
#include "train/run_lock.h"
#include "train/setup.h"

namespace ovde {

namespace fs = std::filesystem;

namespace {

// An agent's place in the population.
struct Place {
  std::unique_ptr<Member> member;  // null: had finished before this process began
  RunSummary summary;              // once finished
  bool busy = false;
};

// Hands out the agents of a population, the one that is furthest behind first. Agents never wait
// for each other, and what an agent learns does not depend on who runs it.
class Schedule {
 public:
  Schedule(std::vector<Place>& places, const std::atomic<bool>& asked_to_stop)
      : places_(places), asked_to_stop_(asked_to_stop) {}

  // Index of the next agent to advance, or -1 when none is left that is not already being advanced.
  int take() {
    const std::lock_guard lock(mutex_);
    if (failed_ || asked_to_stop_) return -1;
    int next = -1;
    for (int i = 0; i < static_cast<int>(places_.size()); ++i) {
      const Place& place = places_[i];
      if (!place.member || place.busy || place.member->done()) continue;
      if (next < 0 || place.member->epochs_done() < places_[next].member->epochs_done()) next = i;
    }
    if (next >= 0) places_[next].busy = true;
    return next;
  }
  void give_back(int index) {
    const std::lock_guard lock(mutex_);
    places_[index].busy = false;
  }
  void fail() {
    const std::lock_guard lock(mutex_);
    failed_ = true;
  }

 private:
  std::vector<Place>& places_;
  const std::atomic<bool>& asked_to_stop_;
  bool failed_ = false;
  std::mutex mutex_;
};

// Takes agents and advances them until none is left.
void work(std::vector<Place>& places, Schedule& schedule, int threads,
          const std::atomic<bool>& stop, ProgressSink& progress) {
  Team team(threads);
  for (int i = schedule.take(); i >= 0; i = schedule.take()) {
    Member& member = *places[i].member;
    try {
      if (const auto row = member.epoch(team, stop)) progress.epoch_done(i, *row);
      if (member.done()) places[i].summary = member.finish();
    } catch (const std::exception& error) {
      schedule.fail();
      member.log(LogLevel::error, error.what());
      throw;
    }
    schedule.give_back(i);
  }
}

// What is not being worked on and not finished is saved.
void save_all(std::vector<Place>& places, const std::string& why) {
  for (Place& place : places) {
    if (!place.member || place.busy || place.member->done()) continue;
    place.member->save_now();
    place.member->log(LogLevel::info, why);
  }
}

// False: stopped, and saved.
bool run_all(std::vector<Place>& places, RunStart start, int threads,
             const std::atomic<bool>* asked_to_stop, ProgressSink& progress) {
  const std::atomic<bool> never{false};
  const std::atomic<bool>& stop = asked_to_stop != nullptr ? *asked_to_stop : never;
  for (Place& place : places) {
    start.epochs_done += place.member ? place.member->epochs_done() : start.epochs;
    // killed after its last epoch
    if (place.member && place.member->done()) place.summary = place.member->finish();
  }
  progress.run_started(start);

  // one agent uses the threads inside its updates; several have a thread each
  Schedule schedule(places, stop);
  try {
    if (places.size() == 1) {
      work(places, schedule, threads, stop, progress);
    } else {
      Team team(std::min(threads, static_cast<int>(places.size())));
      team.run(team.threads(), [&](int) { work(places, schedule, 1, stop, progress); });
    }
  } catch (const std::exception&) {
    // the failed one keeps its last checkpoint; what the others have learnt since theirs need not
    // be lost, if the fault lets it be saved
    try {
      save_all(places, "stopped: another agent of the population failed");
    } catch (const std::exception&) {
    }
    throw;
  }

  const bool finished = std::ranges::all_of(
      places, [](const Place& place) { return !place.member || place.member->done(); });
  if (!finished) {
    save_all(places, "interrupted");
    return false;
  }
  std::vector<RunSummary> summaries;
  for (const Place& place : places) summaries.push_back(place.summary);
  progress.run_finished(summaries);
  return true;
}

RunStart run_start(const Config& config, const std::vector<std::uint64_t>& seeds,
                   const fs::path& folder) {
  return {.task = config.task,
          .algorithm = config.algorithm,
          .seeds = seeds,
          .epochs = config.train.integer("epochs"),
          .updates_per_epoch = config.train.integer("steps_per_epoch"),
          .epochs_done = 0,
          .folder = folder};
}

Config with_seed(Config config, std::uint64_t seed) {
  config.seed = seed;
  return config;
}

RunSummary summary_of_finished(const fs::path& folder, const Config& config) {
  RunSummary summary = summarise(read_progress(folder));
  summary.task = config.task;
  summary.algorithm = config.algorithm;
  summary.seed = config.seed;
  return summary;
}

// What the folder is the run of.
Population runs_in(const fs::path& folder) {
  if (auto population = read_population(folder)) return *std::move(population);
  check_run_folder(folder);
  const fs::path above = fs::absolute(folder).lexically_normal().parent_path();
  if (holds_population(above)) {
    throw InputError(fmt::format("{} is one agent of a population; resume all of it: {}",
                                 folder.string(), above.string()));
  }
  const Config config = read_config(folder);
  return {config, {config.seed}};
}

}  // namespace

bool train(const TrainRequest& request, ProgressSink& progress) {
  make_environment(request.config);  // what the task refuses leaves no folder behind
  ensure_new_run_folder(request.out);
  const RunLock lock(request.out);
  if (request.seeds.size() > 1)
    write_population(request.out, {request.config, request.seeds}, request.command);

  std::vector<Place> places(request.seeds.size());
  for (std::size_t i = 0; i < places.size(); ++i) {
    places[i].member = Member::start(with_seed(request.config, request.seeds[i]),
                                     agent_folder(request.out, request.seeds, i), request.command);
  }
  return run_all(places, run_start(request.config, request.seeds, request.out), request.threads,
                 request.stop, progress);
}

bool resume(const ResumeRequest& request, ProgressSink& progress) {
  const Population population = runs_in(request.folder);
  const auto& seeds = population.seeds;
  const RunLock lock(request.folder);

  std::vector<Place> places(seeds.size());
  std::vector<std::string> warnings;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const fs::path folder = agent_folder(request.folder, seeds, i);
    const Config config = with_seed(population.config, seeds[i]);
    if (is_finished(folder)) {
      places[i].summary = summary_of_finished(folder, config);
    } else if (fs::exists(folder / "config.toml")) {
      places[i].member = Member::resume(folder, warnings);
    } else {  // killed before this agent's folder was there
      places[i].member = Member::start(config, folder, "ovde train --resume");
    }
  }
  if (std::ranges::none_of(places, [](const Place& place) { return place.member != nullptr; })) {
    throw InputError(
        fmt::format("the run in {} is finished ({} epochs): there is nothing to resume",
                    request.folder.string(), population.config.train.integer("epochs")));
  }
  for (const std::string& text : warnings) progress.warning(text);
  return run_all(places, run_start(population.config, seeds, request.folder), request.threads,
                 request.stop, progress);
}

}  // namespace ovde
