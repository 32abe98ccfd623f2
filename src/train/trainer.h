// Trains a population of agents, one for each seed, and leaves a run folder; goes on with one that
// was interrupted. On the CPU or on a GPU: a run may change between them where it was interrupted.
#pragma once

#include <atomic>

#include "train/lockstep.h"
#include "train/population_run.h"
#include "train/progress.h"

namespace ovde {

// What works on a run.
struct Workers {
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;  // becomes true: save and return
  GpuDevice gpu = {};                       // empty: on the CPU
};

// False: was asked to stop before the end; the state is saved. InputError if the run cannot go on:
// it is finished, its configuration was changed, its format is newer, or another process is writing
// it.
bool train(const RunPlan& plan, const Workers& workers, ProgressSink& progress);

}  // namespace ovde
