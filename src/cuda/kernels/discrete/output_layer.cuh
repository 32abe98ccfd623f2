// The output layer of a network over a grid of actions (agent/discrete/grid_critic.h), one action's
// rows at a time: by one warp, in fp32.
#pragma once

#include "cuda/tile/network.cuh"

namespace ovde::cuda {

// A hidden layer of at most kMostWidth units, or a row of weights: lane l has four numbers from 4 l
// on and four from 128 + 4 l on.
struct HiddenRow {
  HiddenRow() = default;
  __device__ HiddenRow(const float* from, int stride) {
    const int at = threadIdx.x % 32 * 4;
    part[0] = at < stride ? *reinterpret_cast<const float4*>(from + at) : float4{};
    part[1] = at + 128 < stride ? *reinterpret_cast<const float4*>(from + at + 128) : float4{};
  }
  // The dot product of whole rows, in every lane.
  __device__ float dot(const HiddenRow& other) const {
    float sum = 0;
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      const float4 a = part[p], b = other.part[p];
      sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    return sum_of_warp(sum);
  }
  __device__ void add(float factor, const HiddenRow& other) {
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      part[p].x += factor * other.part[p].x;
      part[p].y += factor * other.part[p].y;
      part[p].z += factor * other.part[p].z;
      part[p].w += factor * other.part[p].w;
    }
  }
  float4 part[2] = {};
};

// The rows of one action in the output layer.
struct ActionRows {
  __device__ ActionRows(const Agent& agent, const float* parameters, int action)
      : n(agent.critic.quantiles), stride(output_layer(agent).stride) {
    const LayerShape& layer = output_layer(agent);
    weights = parameters + layer.weights + static_cast<std::size_t>(action) * n * stride;
    bias = parameters + layer.bias + static_cast<std::size_t>(action) * n;
  }
  __device__ static const LayerShape& output_layer(const Agent& agent) {
    return agent.critic_shape.layer[agent.critic_shape.layers - 1];
  }
  __device__ HiddenRow row(int i) const { return {weights + i * stride, stride}; }

  // Quantile number `lane` of the action's return, given the last hidden layer.
  __device__ float quantile(const HiddenRow& hidden) const {
    float mine = 0;
#pragma unroll 4
    for (int i = 0; i < n; ++i) {
      const float z = row(i).dot(hidden);
      if (threadIdx.x % 32 == i) mine = bias[i] + z;
    }
    return mine;
  }

  const float *weights, *bias;
  int n, stride;
};

}  // namespace ovde::cuda
