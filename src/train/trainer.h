// Trains a population of agents, one for each seed, and leaves a run folder; continues a run that
// was interrupted. On the CPU or on a GPU: a resumed run may change between them.
#pragma once

#include <atomic>

#include "train/lockstep.h"
#include "train/population_run.h"

namespace ovde {

struct Workers {
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;  // becomes true: save and return
  GpuDevice gpu = {};                       // empty: on the CPU
};

// False: stopped before the end; the state is saved. InputError if the run cannot continue: it is
// finished, its configuration was changed, its format is newer, or another process is writing it.
bool train(const RunPlan& plan, const Workers& workers, ProgressSink& progress);

}  // namespace ovde
