#include "train/trainer.h"

#include <algorithm>
#include <mutex>

#include "math/team.h"
#include "train/open_run.h"

namespace ovde {

namespace {

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
      if (place.busy || !place.is_left()) continue;  // a busy one is somebody's, even to look at
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

void train_on_cpu(OpenRun& run, int threads, const std::atomic<bool>& stop) {
  run.start();
  // one agent uses the threads inside its updates; several have a thread each
  std::vector<Place>& places = run.places();
  Schedule schedule(places, stop);
  try {
    if (places.size() == 1) {
      work(places, schedule, threads, stop, run.progress());
    } else {
      Team team(std::min(threads, static_cast<int>(places.size())));
      team.run(team.threads(), [&](int) { work(places, schedule, 1, stop, run.progress()); });
    }
  } catch (const std::exception&) {
    // the failed one keeps its last checkpoint; what the others have learnt since theirs need not
    // be lost, if the fault lets it be saved
    try {
      run.save_all("stopped: another agent of the population failed");
    } catch (const std::exception&) {
    }
    throw;
  }
}

}  // namespace

bool train(const RunPlan& plan, const Workers& workers, ProgressSink& progress) {
  const std::atomic<bool> never{false};
  const std::atomic<bool>& stop = workers.stop != nullptr ? *workers.stop : never;
  // what does not fit is said before anything is written
  if (workers.gpu) {
    if (const auto agents = agents_left(plan); !agents.empty())
      workers.gpu(agents, precision_of(plan.config));
  }
  OpenRun run(plan, progress);
  if (workers.gpu) {
    OpenRun* const runs[] = {&run};
    const auto failures = train_in_lockstep(runs, workers.gpu, workers.threads, stop);
    if (failures.front()) std::rethrow_exception(failures.front());
  } else {
    train_on_cpu(run, workers.threads, stop);
  }
  return run.close();
}

bool train(const TrainRequest& request, ProgressSink& progress) {
  return train(plan_new_run(request.config, request.seeds, request.out, request.command),
               {request.threads, request.stop, request.gpu}, progress);
}

bool resume(const ResumeRequest& request, ProgressSink& progress) {
  return train(plan_rest_of_run(request.folder), {request.threads, request.stop, request.gpu},
               progress);
}

}  // namespace ovde
