// The step of the temperature on -log_alpha * (log pi + H), with the target entropy H.
#pragma once

#include "cuda/agent.h"
#include "cuda/tile/warp.cuh"

namespace ovde::cuda {

// Every block of an agent computes the same temperature; the one with `write` stores it. The
// log-probabilities are summed in a fixed order.
template <typename Tile>
__device__ float next_temperature(Tile& tile, const Agent& agent, bool write) {
  const Progress& progress = *agent.progress;
  constexpr int kSummands = 256;                          // the same for every size of tile
  float* sums = reinterpret_cast<float*>(&tile.x[0][0]);  // not in use yet
  float sum = 0;
  for (int s = threadIdx.x; s < agent.train.batch && threadIdx.x < kSummands; s += kSummands)
    sum += agent.log_probability[s];
  sum = sum_of_warp(sum);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < kSummands / 32; ++w) sum += sums[w];
  __syncthreads();

  float value = progress.log_alpha[0], first = progress.log_alpha[1],
        second = progress.log_alpha[2];
  if (agent.train.tune_temperature && progress.moves) {
    const float entropy = target_entropy(agent.actions, agent.train.target_std);
    const float gradient = -(sum / agent.train.batch + entropy);
    adam_update(agent.train.adam, progress.actor_step.adam, gradient, value, first, second,
                AccurateMath{});
  }
  if (write && threadIdx.x == 0) {
    agent.progress->next_log_alpha[0] = value;
    agent.progress->next_log_alpha[1] = first;
    agent.progress->next_log_alpha[2] = second;
    agent.progress->alpha = expf(value);
  }
  return expf(value);
}

}  // namespace ovde::cuda
