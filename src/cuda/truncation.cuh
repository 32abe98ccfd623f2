// The truncated mixture of two critics' values (agent/critic/truncation.h), by a warp.
#pragma once

#include "cuda/layout.h"

namespace ovde::cuda {

// How many targets a sample has.
__device__ inline int target_count(const Agent& agent) {
  return agent.dropped > 0 ? 2 * (agent.quantiles - agent.dropped) : agent.quantiles;
}

// Lane i < n has value i of each critic. Calls keep(place, z) for the smallest of all 2 n, places 0
// .. count - 1 in ascending order; where one is not a number, none is.
template <typename Keep>
__device__ void keep_smallest(float first, float second, int n, int count, const Keep& keep) {
  constexpr unsigned kAll = 0xffffffffu;
  const int lane = threadIdx.x % 32;
  const bool bad = __any_sync(kAll, lane < n && (first != first || second != second));
  int of_first = 0,
      of_second = 0;  // how many come before; equal ones in the order of their numbers
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

}  // namespace ovde::cuda
