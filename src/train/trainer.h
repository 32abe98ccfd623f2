// Trains a population of agents, one for each seed, and leaves a run folder; goes on with one that
// was interrupted. On the CPU or on a GPU: a run may change between them where it was interrupted.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/config.h"
#include "train/lockstep.h"
#include "train/population_run.h"
#include "train/progress.h"

namespace ovde {

struct TrainRequest {
  Config config;
  std::vector<std::uint64_t> seeds;  // one agent each; config.seed is not looked at
  std::filesystem::path out;         // the run folder; must not hold a run yet
  int threads = 1;
  std::string command;                      // written into config.toml
  const std::atomic<bool>* stop = nullptr;  // becomes true: save and return
  GpuDevice gpu = {};                       // empty: on the CPU
};

struct ResumeRequest {
  std::filesystem::path folder;  // of a run or a population
  int threads = 1;
  std::string command = "resume";  // written into the config.toml of agents that begin now
  const std::atomic<bool>* stop = nullptr;
  GpuDevice gpu = {};
};

// False: was asked to stop before the end; the state is saved.
bool train(const TrainRequest& request, ProgressSink& progress);

// What works on a run.
struct Workers {
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;
  GpuDevice gpu = {};
};
bool train(const RunPlan& plan, const Workers& workers, ProgressSink& progress);

// The same for what is left of a run. InputError if it cannot be resumed: it holds no run, is
// finished, its configuration was changed, its format is newer, or another process is writing it.
bool resume(const ResumeRequest& request, ProgressSink& progress);

}  // namespace ovde
