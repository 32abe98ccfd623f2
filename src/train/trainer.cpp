#include "train/trainer.h"

#include <algorithm>

#include "base/team.h"
#include "train/work_sharing.h"

namespace ovde {

namespace {

std::int64_t epochs_left(const Place& place) {
  if (!place.run) return 0;
  return place.run->config().train.epochs - place.run->epochs_done();
}

// Takes agents, the one with the most epochs left first, and advances them until none is left.
// Agents do not wait for each other, and their results do not depend on the thread.
void work(std::vector<Place>& places, LongestFirstQueue& queue, int threads,
          const std::atomic<bool>& stop, std::atomic<bool>& failed, ProgressSink& progress) {
  Team team(threads);
  while (!stop && !failed) {
    const int i = queue.take();
    if (i < 0) break;
    Place& place = places[i];
    place.busy = true;
    AgentRun& run = *place.run;
    try {
      if (const auto row = run.epoch(team, stop)) progress.epoch_done(i, *row);
      place.finish_if_done(stop);
    } catch (const std::exception& error) {
      failed = true;
      run.fail(error.what());
      throw;
    }
    place.busy = false;
    queue.give_back(i, epochs_left(place));
  }
}

void train_on_cpu(PopulationRun& run, int threads, const std::atomic<bool>& stop) {
  run.start(stop);
  // a single agent uses the threads inside its updates; several agents have one thread each
  std::vector<Place>& places = run.places();
  std::vector<std::int64_t> left;
  for (const Place& place : places) left.push_back(epochs_left(place));
  LongestFirstQueue queue(left);
  std::atomic<bool> failed{false};
  try {
    if (places.size() == 1) {
      work(places, queue, threads, stop, failed, run.progress());
    } else {
      Team team(std::min(threads, static_cast<int>(places.size())));
      team.run(team.threads(), [&](int) { work(places, queue, 1, stop, failed, run.progress()); });
    }
  } catch (const std::exception&) {
    // the failed agent keeps its last checkpoint; the others are saved, where the fault allows it
    try {
      run.interrupt_all("stopped: another agent of the population failed");
    } catch (const std::exception&) {
    }
    throw;
  }
}

}  // namespace

bool train(const RunPlan& plan, const Workers& workers, ProgressSink& progress) {
  const std::atomic<bool>& stop = workers.stop != nullptr ? *workers.stop : kNever;
  PopulationRun::Check check;
  if (workers.gpu) {
    check = [&](auto agents) { workers.gpu.check(agents, plan.config.train.precision); };
  }
  PopulationRun run(plan, progress, workers.threads, check);
  if (workers.gpu) {
    PopulationRun* const runs[] = {&run};
    const auto failures = train_in_lockstep(runs, workers.gpu, workers.threads, stop);
    if (failures.front()) std::rethrow_exception(failures.front());
  } else {
    train_on_cpu(run, workers.threads, stop);
  }
  return run.close();
}

}  // namespace ovde
