// The announcement of a run: its number of steps, its evaluations, and an estimate of its duration.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"

namespace ovde {

struct RunStart {
  std::string task, algorithm;
  std::vector<std::uint64_t> seeds;  // one agent each
  int epochs = 0;
  int updates_per_epoch = 0, steps_per_epoch = 0;
  std::int64_t warmup_steps = 0;
  std::int64_t eval_steps = 0;  // steps of one evaluation, which follows every eval_epochs epochs
  int eval_epochs = 1;
  std::int64_t epochs_done = 0;  // by all agents together, where a resumed run continues
  std::filesystem::path folder;
};

// "1250 epochs of 100 steps: 126,000 steps with the warm-up; evaluated for 1,000 steps after every
// epoch (10 times the training's steps)"
std::string describe_length(const RunStart& run);

// "about 4 minutes"
std::string about(double seconds);

// Measures the first epochs of a new run, without the warm-up.
class DurationEstimate {
 public:
  explicit DurationEstimate(const RunStart& run);

  void warming_up();
  // The duration of the whole run, once, as soon as it is known: "about 4 minutes (510 steps a
  // second)". Nothing for runs of a few seconds.
  std::optional<std::string> epoch_done();

 private:
  std::int64_t agents_, epochs_;  // epochs of all agents
  std::int64_t steps_per_epoch_;
  std::int64_t done_ = 0, done_before_ = 0;  // epochs, and those before the measurement
  Clock::time_point start_ = Clock::now(), from_ = start_;
  bool told_;
};

}  // namespace ovde
