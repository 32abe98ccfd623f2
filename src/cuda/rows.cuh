// The transitions of an update: which rows of the replay buffer the samples of a tile are.
#pragma once

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

}  // namespace ovde::cuda
