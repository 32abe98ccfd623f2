// The transitions of an update: which rows of the replay buffer the samples of a tile are.
#pragma once

#include "agent/n_step.h"
#include "cuda/philox.cuh"
#include "cuda/tile.cuh"

namespace ovde::cuda {

// Which rows of the replay buffer the tile's samples are. Ends with every thread done.
template <typename T>
__device__ void choose_rows(T& tile, const Agent& agent, int first_sample) {
  for (int r = threadIdx.x; r < T::kRows; r += T::kThreads) {
    tile.index(r) =
        static_cast<std::uint32_t>(replay_index(agent.seed, agent.progress->updates, agent.batch,
                                                first_sample + r, agent.progress->replay_rows));
  }
  __syncthreads();
}

template <typename T>
__device__ const float* replay_row(T& tile, const Agent& agent, int r) {
  return agent.replay + static_cast<std::size_t>(tile.index(r)) * agent.replay_stride;
}

// The return from row `first` on, of an agent for which it has several steps.
__device__ inline NStepReturn return_from(const Agent& agent, std::uint32_t first) {
  const float* rewards = agent.replay + agent.observations + agent.actions;
  const auto at = [&](std::int64_t row) { return rewards + row * agent.replay_stride; };
  const std::int64_t newest = (agent.progress->replay_added - 1) % agent.replay_rows;
  return n_step_return(
      first, agent.n_step, agent.discount, newest, agent.replay_rows,
      [&](std::int64_t row) { return __ldg(at(row)); },
      [&](std::int64_t row) { return __ldg(at(row) + 1 + agent.observations); });
}

// Sample s of the batch, row r of the tile: its return, and what the critics' value counts after
// it.
template <typename T>
__device__ void save_return(T& tile, const Agent& agent, int r, int s) {
  float sum, discount = agent.discount;
  const float* row = replay_row(tile, agent, r);
  const int reward = agent.observations + agent.actions;
  if (agent.n_step == 1) {
    sum = __ldg(row + reward);
  } else {
    const NStepReturn found = return_from(agent, tile.index(r));
    sum = found.reward;
    discount *= found.discount;
    row = agent.replay + found.last * agent.replay_stride;
  }
  agent.reward[s] = sum;
  agent.continues[s] = discount * (1 - __ldg(row + reward + 1 + agent.observations));
}

// From where the samples' returns begin to where they end. Ends with every thread done.
template <typename T>
__device__ void go_to_last_rows(T& tile, const Agent& agent) {
  if (agent.n_step == 1) return;
  __syncthreads();
  for (int r = threadIdx.x; r < T::kRows; r += T::kThreads)
    tile.index(r) = static_cast<std::uint32_t>(return_from(agent, tile.index(r)).last);
  __syncthreads();
}

}  // namespace ovde::cuda
