// Measures the speed of training and its parts on this machine. Returns rows of numbers.
#pragma once

#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "io/settings.h"
#include "train/lockstep.h"

namespace ovde {

struct BenchRequest {
  std::string task;       // empty: the sizes of HalfCheetah, for train GridChaos-v0
  std::string algorithm;  // empty: all, for train
  int threads = 1;
  int population = 1;             // for update, and for act on a GPU
  std::vector<Setting> settings;  // for update, act, train and env
  GpuDevice gpu = {};             // for update and act; empty: the CPU
  std::string beside;             // for env: another task, measured in turn with `task`
};

// Seconds of a measurement: `usual` ones, or a tenth where tests set OVDE_BENCH_SHORT.
double measured_seconds(double usual);

// One measurement.
struct BenchRow {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  struct Metric {
    std::string name;
    std::variant<double, std::string> value;  // NaN: not measured
  };

  std::string what, task, algorithm = {};
  int population = 1, threads = 1;
  std::string device = "cpu";
  double per_second = 0, seconds = 0;
  std::vector<Metric> more = {};  // further numbers of this benchmark

  double metric(const std::string& name) const;  // a number in `more`; Error if there is none
};

std::vector<BenchRow> bench_update(const BenchRequest& request);
// The action of the behaviour policy, compared with the action of the policy itself.
std::vector<BenchRow> bench_act(const BenchRequest& request);

// Whole epochs of one algorithm, or of all without residual networks, relative to SAC.
std::vector<BenchRow> bench_train(const BenchRequest& request);

// Steps of the environment on one thread and on all, compared with the physics engine alone, with
// the task under the settings, and with the task `beside`.
std::vector<BenchRow> bench_env(const BenchRequest& request);

// A checkpoint with a full replay buffer: pause of the training, time to write, memory. Writes into
// the current folder.
inline constexpr double kCheckpointBufferRows = 1e6;  // a full buffer of the standard tasks
std::vector<BenchRow> bench_checkpoint(const BenchRequest& request);

BenchRow bench_row(const char* what, const BenchRequest& request, double per_second, double seconds,
                   std::vector<BenchRow::Metric> more);

}  // namespace ovde
