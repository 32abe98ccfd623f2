// The announcement of a run: its number of steps, its evaluations, and an estimate of its duration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"

namespace ovde {

struct RunPlan;  // train/population_run.h

// "1250 epochs of 100 steps: 126,000 steps with the warm-up; evaluated for 1,000 steps after every
// epoch (10 times the training's steps)"
std::string describe_length(const RunPlan& run);

// "about 4 minutes"
std::string about(double seconds);

// Measures the first epochs of a new run, without the warm-up.
class DurationEstimate {
 public:
  // `epochs_done`: by all agents together, where a resumed run continues.
  DurationEstimate(const RunPlan& run, std::int64_t epochs_done);

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
