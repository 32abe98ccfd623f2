// Times the parts of training on this machine and prints one row for each.
#pragma once

#include <string>
#include <vector>

#include "io/settings.h"
#include "train/lockstep.h"

namespace ovde {

struct BenchRequest {
  std::string task;  // whose sizes to use; empty: those of HalfCheetah (17 observations, 6 actions)
  std::string algorithm;  // of train, empty: all of them
  int threads = 1;
  int population = 1;             // of update, and of act on a GPU
  std::vector<Setting> settings;  // of update, act and train, beside task and algorithm
  GpuDevice gpu = {};             // of update and act; empty: on the CPU
  bool json = false;
};

void bench_update(const BenchRequest& request);
// The behaviour policy's action beside the policy's own, which is drawn where the policy draws.
void bench_act(const BenchRequest& request);

// Whole epochs of one algorithm, or of every one, on one task (GridChaos-v0), relative to SAC.
void bench_train(const BenchRequest& request);

// The environment on one thread and on all of them, and the physics engine alone beside it.
void bench_env(const BenchRequest& request);

// A checkpoint at a full replay buffer: the pause of training, the writing beside it, the memory.
// Writes into the current folder.
void bench_checkpoint(const BenchRequest& request);

}  // namespace ovde
