// TQC's targets: the truncated mixture of two critics' values (agent/actor_critic/truncation.h).
#pragma once

#include "cuda/agent.h"

namespace ovde::cuda {

// The number of targets of a sample.
__device__ inline int target_count(const Agent& agent) {
  return agent.critic.dropped > 0 ? 2 * (agent.critic.quantiles - agent.critic.dropped)
                                  : agent.critic.quantiles;
}

// Lane i < n has value i of each critic. Calls keep(place, z) for the `count` smallest of all 2 n,
// in ascending order from place 0. If a value is NaN, all become NaN.
template <typename Keep>
__device__ void keep_smallest(float first, float second, int n, int count, const Keep& keep) {
  constexpr unsigned kAll = 0xffffffffu;
  const int lane = threadIdx.x % 32;
  const bool bad = __any_sync(kAll, lane < n && (first != first || second != second));
  int of_first = 0, of_second = 0;  // ranks; equal values in the order of their numbers
  for (int i = 0; i < n; ++i) {
    const float a = __shfl_sync(kAll, first, i), b = __shfl_sync(kAll, second, i);
    of_first += (a < first || (a == first && i < lane)) + (b < first);
    of_second += (a <= second) + (b < second || (b == second && i < lane));
  }
  if (lane >= n) return;
  if (bad) {
    for (int place = lane; place < count; place += n) keep(place, nanf(""));
    return;
  }
  if (of_first < count) keep(of_first, first);
  if (of_second < count) keep(of_second, second);
}

// Writes the targets of sample s (Eq. 4 with truncation); by a warp.
__device__ inline void truncated_targets(const Agent& agent, int s, float alpha, float* out) {
  const int n = agent.critic.quantiles, at = s * n + min(static_cast<int>(threadIdx.x % 32), n - 1);
  const float reward = __ldg(agent.reward + s), continues = __ldg(agent.continues + s),
              entropy = alpha * __ldg(agent.next_log_probability + s);
  keep_smallest(__ldg(agent.next_quantiles[0] + at), __ldg(agent.next_quantiles[1] + at), n,
                target_count(agent), [&](int place, float z) {
                  out[place] = td_target(reward, continues, z, z, entropy);
                });
}

}  // namespace ovde::cuda
