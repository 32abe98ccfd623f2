// Times the parts of training on this machine. Returns rows; how they look is the program's
// business.
#pragma once

#include <limits>
#include <string>
#include <variant>
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
};

// What was measured once.
struct BenchRow {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  struct Metric {
    std::string name;
    std::variant<double, std::string> value;  // NaN: there was nothing to measure
  };

  std::string what, task, algorithm = {};
  int population = 1, threads = 1;
  std::string device = "cpu";
  double per_second = 0, seconds = 0;  // seconds: of one
  std::vector<Metric> more = {};       // what only this benchmark measures

  double metric(const std::string& name) const;  // a number among `more`
};

std::vector<BenchRow> bench_update(const BenchRequest& request);
// The behaviour policy's action beside the policy's own, which is drawn where the policy draws.
std::vector<BenchRow> bench_act(const BenchRequest& request);

// Whole epochs of one algorithm, or of every one, on one task (GridChaos-v0), relative to SAC.
std::vector<BenchRow> bench_train(const BenchRequest& request);

// The environment on one thread and on all of them, and the physics engine alone beside it.
std::vector<BenchRow> bench_env(const BenchRequest& request);

// A checkpoint at a full replay buffer: the pause of training, the writing beside it, the memory.
// Writes into the current folder.
inline constexpr double kCheckpointBufferRows = 1e6;  // a full buffer of the standard tasks
std::vector<BenchRow> bench_checkpoint(const BenchRequest& request);

}  // namespace ovde
