// The actions of TD3's deterministic policy.
#pragma once

#include "cuda/kernels/batch.cuh"

namespace ovde::cuda {

// From the actor's results to actions: a = tanh(u), and for the targets, smoothed, clip(a +
// clip(smoothing * eps, -c, c), -1, 1). Calls visit(s, d, action, u) for each action of each
// sample. Ends with a barrier.
template <typename T, typename Visit>
__device__ void deterministic_actions(T& tile, const Agent& agent, int first_sample, bool smooth,
                                      float* log_probability, Visit&& visit) {
  const int actions = agent.actions, batch = agent.train.batch;
  const Td3Options& td3 = agent.td3;
  for (int e = threadIdx.x; e < T::kRows * actions; e += T::kThreads) {
    const int r = e / actions, d = e % actions, s = first_sample + r;
    const float u = tile.result(r, d);
    float action = tanhf(u);
    if (smooth) {
      const float noise =
          td3.smoothing * batch_noise(agent.seed, Stream::target_noise, agent.progress->updates,
                                      batch, actions, d, s);
      action = clamp_to_one(action + fmaxf(fminf(noise, td3.clip), -td3.clip));
    }
    visit(s, d, action, u);
  }
  for (int r = threadIdx.x; r < T::kRows; r += T::kThreads) log_probability[first_sample + r] = 0;
  __syncthreads();
}

}  // namespace ovde::cuda
