// Returns over several steps: a transition waits here until n rewards have come or its episode has
// ended, and then goes into the replay buffer as (s_t, a_t, sum of the discounted rewards, s_t+k),
// k <= n. With n = 1 none waits. The entropies between are not counted.
#pragma once

#include <span>
#include <vector>

#include "agent/learning.h"
#include "agent/replay.h"

namespace ovde {

class NStepReturns {
 public:
  NStepReturns(int n, float discount, int observation_size, int action_size);

  // `last`: the episode ends here, for whatever reason.
  void add(std::span<const float> observation, std::span<const float> action, float reward,
           std::span<const float> next_observation, bool terminal, bool last, Replay& replay);

  // Gives up what waits: the rest of its episode will not be seen.
  void forget() { waiting_ = 0; }

  void add_state(LearnerState& state);

 private:
  float* row(int index) { return rows_.data() + static_cast<std::size_t>(index) * row_floats_; }

  int n_, observation_size_, action_size_, row_floats_;
  std::vector<float> powers_;  // of the discount, from the 0th
  std::vector<float> rows_;    // observation, action, return so far; the oldest first
  double waiting_ = 0;         // how many; a whole number, saved as the statistics are
};

}  // namespace ovde
