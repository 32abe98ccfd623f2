// Returns over several steps, made of the rows of a replay buffer when they are drawn, for CPU and
// GPU: from one row on, the rewards until n have come, the episode has ended or no newer row is
// there. The entropies between are not counted.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/lanes.h"

namespace ovde {

// In the place of a row's `terminal` (replay.h): the episode ends here, but not its return. Counts
// as zero.
inline constexpr float kCutOff = -0.0f;
OVDE_BOTH inline bool ends_episode(float terminal) {
  return terminal != 0 || std::signbit(terminal);
}

struct NStepReturn {
  float reward;       // the discounted sum
  float discount;     // of the last of them
  std::int64_t last;  // its row
};

// From row `first` of a ring of `capacity`, whose newest is `newest`. reward(row), terminal(row):
// what a row has.
template <typename Reward, typename Terminal>
OVDE_BOTH NStepReturn n_step_return(std::int64_t first, int n, float discount, std::int64_t newest,
                                    std::int64_t capacity, const Reward& reward,
                                    const Terminal& terminal) {
  NStepReturn sum{reward(first), 1, first};
  for (int k = 1; k < n && sum.last != newest && !ends_episode(terminal(sum.last)); ++k) {
    sum.last = sum.last + 1 == capacity ? 0 : sum.last + 1;
    sum.discount *= discount;
    sum.reward = std::fma(sum.discount, reward(sum.last), sum.reward);
  }
  return sum;
}

}  // namespace ovde
