#include "train/lockstep.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/team.h"
#include "train/lockstep_group.h"

namespace ovde {

namespace {

// The agents of all runs, the group that is trained at a time, and the failures.
class LockstepDriver {
 public:
  LockstepDriver(std::span<PopulationRun* const> runs, const GpuDevice& gpu, int threads,
                 const std::atomic<bool>& stop, const WorkStealer& stealer)
      : runs_(runs),
        gpu_(gpu),
        stop_(stop),
        stealer_(stealer),
        team_(threads),
        failures_(runs.size()) {
    for (std::size_t r = 0; r < runs.size(); ++r) {
      try {
        runs[r]->start(stop);
      } catch (const std::exception&) {
        failures_[r] = std::current_exception();
        continue;
      }
      auto& places = runs[r]->places();
      for (int i = 0; i < static_cast<int>(places.size()); ++i) {
        if (!places[i].summary)
          slots_.push_back({.population = r,
                            .agent = i,
                            .progress = &runs[r]->progress(),
                            .place = &places[i],
                            .run = places[i].run.get()});
      }
    }
  }

  std::vector<std::exception_ptr> run() {
    complete_epochs();
    try {
      while (!stop_ && advance()) {
      }
    } catch (const std::exception& error) {
      fail_all(error.what());
    }
    return failures_;
  }

 private:
  bool is_left(const LockstepSlot& slot) const { return slot.active && !slot.run->done(); }

  // An epoch that was interrupted on the CPU is completed there.
  void complete_epochs() {
    team_.run(static_cast<int>(slots_.size()), [this](int i) { complete_epoch(slots_[i]); });
    leave_failed_runs();
  }

  void complete_epoch(LockstepSlot& slot) {
    slot.guard([&] {
      if (slot.run->loop().between_epochs()) return;
      Team alone(1);
      const auto row = slot.run->epoch(alone, stop_);
      slot.run->loop().agent().use(nullptr);
      if (row) slot.progress->epoch_done(slot.agent, *row);
      slot.place->finish_if_done(stop_);
    });
  }

  // Trains the agents with the fewest epochs until they have caught up with the next ones, or until
  // one of them ends. False: no agent is left.
  bool advance() {
    int epoch = std::numeric_limits<int>::max(), next = epoch;
    for (const LockstepSlot& slot : slots_) {
      if (is_left(slot)) epoch = std::min(epoch, slot.run->epochs_done());
    }
    std::vector<LockstepSlot*> behind;
    for (LockstepSlot& slot : slots_) {
      if (!is_left(slot)) continue;
      if (slot.run->epochs_done() == epoch) {
        behind.push_back(&slot);
      } else {
        next = std::min(next, slot.run->epochs_done());
      }
    }
    if (behind.empty()) return false;

    LockstepGroup group(behind, gpu_, team_, stealer_);
    const auto any_left = [&] {
      return std::ranges::any_of(behind, [&](const LockstepSlot* slot) { return is_left(*slot); });
    };
    int last = next;
    for (const LockstepSlot* slot : behind) last = std::min(last, slot->run->config().train.epochs);
    for (; epoch < last && !stop_ && any_left(); ++epoch) {
      group.epoch();
      leave_failed_runs();
    }
    if (!stop_) group.evaluate_last(stop_);
    leave_failed_runs();
    if (!stop_) report_finished_runs();
    group.fetch_all();
    return true;
  }

  // Does not wait for the runs that take longer.
  void report_finished_runs() {
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      if (failures_[r]) continue;
      try {
        runs_[r]->report_if_finished();
      } catch (const std::exception&) {  // thrown by the sink
        failures_[r] = std::current_exception();
      }
    }
  }

  // Saves the other agents of a failed run, where the fault allows it.
  void leave_failed_runs() {
    for (std::size_t r = 0; r < runs_.size(); ++r) {
      if (failures_[r]) continue;
      for (LockstepSlot& slot : slots_) {
        if (slot.population != r || !slot.failure) continue;
        slot.place->busy = true;  // keeps its last checkpoint
        if (!failures_[r]) failures_[r] = slot.failure;
      }
      if (!failures_[r]) continue;
      for (LockstepSlot& slot : slots_) {
        if (slot.population == r && is_left(slot)) complete_epoch(slot);
      }
      try {
        runs_[r]->interrupt_all("stopped: another agent of the population failed");
      } catch (const std::exception&) {
      }
      for (LockstepSlot& slot : slots_) {
        if (slot.population == r) slot.active = false;
      }
    }
  }

  void fail_all(const std::string& why) {
    const auto failure = std::current_exception();
    for (LockstepSlot& slot : slots_) {
      if (!is_left(slot)) continue;
      slot.run->fail(why);
      failures_[slot.population] = failure;
    }
  }

  std::span<PopulationRun* const> runs_;
  const GpuDevice& gpu_;
  const std::atomic<bool>& stop_;
  WorkStealer stealer_;
  Team team_;
  std::vector<LockstepSlot> slots_;
  std::vector<std::exception_ptr> failures_;
};

}  // namespace

GpuDevice device_of(const std::string& name, const std::string& asked_by) {
  if (name == "cpu") return {};
  if (name != "cuda") throw InputError(fmt::format("{} {}: must be cpu or cuda", asked_by, name));
  if (const std::string why = why_no_gpu(); !why.empty())
    throw InputError(fmt::format("{} cuda: {}", asked_by, why));
  return {check_gpu_population, make_gpu_population};
}

bool in_step(const Config& a, const Config& b) {
  const auto together = [](const TrainConfig& train) {
    return std::tuple(train.steps_per_epoch, train.updates_per_step, train.warmup_steps,
                      train.batch, train.precision);
  };
  return together(a.train) == together(b.train) && a.network.kind == b.network.kind;
}

std::vector<std::exception_ptr> train_in_lockstep(std::span<PopulationRun* const> runs,
                                                  const GpuDevice& gpu, int threads,
                                                  const std::atomic<bool>& stop,
                                                  const WorkStealer& stealer) {
  return LockstepDriver(runs, gpu, threads, stop, stealer).run();
}

}  // namespace ovde
