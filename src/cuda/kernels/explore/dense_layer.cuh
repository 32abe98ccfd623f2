// One layer of a network at one observation, in fp32.
#pragma once

#include "cuda/agent.h"
#include "cuda/tile/fours.cuh"
#include "cuda/tile/warp.cuh"

namespace ovde::cuda {

// y = W x + b, with a ReLU if `hidden`; by `warps` warps. This one has number `warp`.
__device__ inline void dense(const float* parameters, const LayerShape layer, const float* x,
                             bool hidden, int warp, int warps, float* y) {
  constexpr int kTogether = 8;  // rows in flight
  const int lane = threadIdx.x % 32;
  for (int first = warp; first < layer.outputs; first += warps * kTogether) {
    float sum[kTogether] = {};
    for (int i = lane * 4; i < layer.stride; i += 128) {
      const float4 a = load_four(x + i);
#pragma unroll
      for (int t = 0; t < kTogether; ++t) {
        const int o = first + t * warps;
        if (o >= layer.outputs) break;
        sum[t] += sum_of_four(a * load_four(parameters + layer.weights + o * layer.stride + i));
      }
    }
#pragma unroll
    for (int t = 0; t < kTogether; ++t) {
      const int o = first + t * warps;
      if (o >= layer.outputs) break;
      const float total = sum_of_warp(sum[t]);
      if (lane == 0) {
        const float value = total + parameters[layer.bias + o];
        y[o] = hidden ? relu(value) : value;
      }
    }
  }
}

}  // namespace ovde::cuda
