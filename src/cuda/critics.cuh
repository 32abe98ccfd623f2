// What the critics' kernels have in common, whatever the head.
#pragma once

#include "cuda/half_network.cuh"

namespace ovde::cuda {

// One step of the temperature on -log_alpha * (log pi + H), with the target entropy H = -dim(A);
// every block of an agent computes the same, one of them writes it down. The log-probabilities are
// summed in a fixed order. Ends with every thread done.
template <typename Tile>
__device__ float next_temperature(Tile& tile, const Agent& agent, bool write) {
  const Progress& progress = *agent.progress;
  constexpr int kSummands = 256;                          // the same for every size of tile
  float* sums = reinterpret_cast<float*>(&tile.x[0][0]);  // not in use yet
  float sum = 0;
  for (int s = threadIdx.x; s < agent.batch && threadIdx.x < kSummands; s += kSummands)
    sum += agent.log_probability[s];
  sum = sum_of_warp(sum);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < kSummands / 32; ++w) sum += sums[w];
  __syncthreads();

  // without a gradient, and with moments that never had one, it stays what it is
  const float gradient = agent.tunes_temperature ? -(sum / agent.batch - agent.actions) : 0.0f;
  float value = progress.log_alpha[0], first = progress.log_alpha[1],
        second = progress.log_alpha[2];
  adam_update(agent.adam, progress.critic_step.adam, gradient, value, first, second,
              AccurateMath{});
  if (write && threadIdx.x == 0) {
    agent.progress->next_log_alpha[0] = value;
    agent.progress->next_log_alpha[1] = first;
    agent.progress->next_log_alpha[2] = second;
    agent.progress->alpha = expf(value);
  }
  return expf(value);
}

// From the gradient of the first layer's sums in x (zero up to a multiple of 32 columns) to that of
// the action in results, columns 0 .. actions - 1. Nobody may be reading the weights' memory. Ends
// with every thread done.
template <typename T>
__device__ void to_actions(T& tile, const float* parameters, const LayerShape& layer,
                           int observations, int actions) {
  // the weights at the action's inputs, transposed
  const float* weights = parameters + layer.weights + threadIdx.x * layer.stride + observations;
  for (int d = 0; d < actions && threadIdx.x < kMostWidth; ++d) {
    store(tile.weights[d * T::kStride + threadIdx.x],
          threadIdx.x < layer.outputs ? __ldg(weights + d) : 0.0f);
  }
  __syncthreads();
  narrow_product(tile, actions, multiple_of_32(layer.outputs), nullptr);
}

}  // namespace ovde::cuda
