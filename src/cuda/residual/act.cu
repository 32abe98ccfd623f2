#include "cuda/residual/act.h"

#include <cmath>

#include "agent/equations.h"
#include "cuda/kernels/launch.cuh"
#include "cuda/residual/network.h"
#include "cuda/tile/warp.cuh"

namespace ovde::cuda::residual {

namespace {

constexpr int kThreads = 512, kWarps = kThreads / 32;

// One agent's block. Ends each step with a barrier.
struct Acting {
  const float *parameters, *statistics;

  __device__ float normalised(const NormPart& part, int i, float x) const {
    const float scale = 1 / sqrtf(statistics[part.variance + i] + kNormEpsilon);
    return (x - statistics[part.mean + i]) * scale * parameters[part.gain + i] +
           parameters[part.shift + i];
  }
  // Calls use(output, sum) for each output of a layer in one lane of a warp.
  template <typename Use>
  __device__ void multiply(const LinearPart& part, const float* x, Use&& use) const {
    const int lane = threadIdx.x % 32;
    for (int o = threadIdx.x / 32; o < part.outputs; o += kWarps) {
      const float* w = parameters + part.weights + o * part.stride;
      float sum = 0;
      for (int i = lane; i < part.inputs; i += 32) sum += w[i] * x[i];
      sum = sum_of_warp(sum);
      if (lane == 0) use(o, sum);
    }
    __syncthreads();
  }
};

__global__ void __launch_bounds__(kThreads)
    act_kernel(GroupSpec spec, const float* parameters, const float* statistics, ActRows rows) {
  __shared__ float input[kMostInputs], stream[kMostWidth], hidden[kMostExpanded],
      head[kMostOutputs];
  const ResidualShape& shape = spec.actor;
  const int agent = blockIdx.x, row = rows.place[agent];
  const Acting acting{parameters + 1LL * agent * shape.size,
                      statistics + 1LL * agent * shape.statistics};
  for (int i = threadIdx.x; i < spec.observations; i += kThreads)
    input[i] =
        acting.normalised(shape.input_norm, i, rows.observation[row * rows.observations + i]);
  __syncthreads();
  acting.multiply(shape.input, input, [&](int o, float sum) { stream[o] = sum; });
  for (int b = 0; b < shape.blocks; ++b) {
    const ResidualShape::Block& block = shape.block[b];
    acting.multiply(block.up, stream, [&](int o, float sum) {
      hidden[o] = relu(acting.normalised(block.up_norm, o, sum));
    });
    acting.multiply(block.down, hidden, [&](int o, float sum) {
      stream[o] += relu(acting.normalised(block.down_norm, o, sum));
    });
  }
  float squares = 0;  // every warp sums the whole row
  for (int i = threadIdx.x % 32; i < shape.width(); i += 32) squares += stream[i] * stream[i];
  const float scale = 1 / sqrtf(sum_of_warp(squares) / shape.width() + kRmsNormEpsilon);
  __syncthreads();
  for (int i = threadIdx.x; i < shape.width(); i += kThreads)
    hidden[i] = scale * stream[i] * acting.parameters[shape.output_norm.gain + i];
  __syncthreads();
  acting.multiply(shape.head, hidden,
                  [&](int o, float sum) { head[o] = sum + acting.parameters[shape.bias + o]; });
  if (threadIdx.x == 0) rows.m[row] = NAN;
  for (int d = threadIdx.x; d < spec.actions; d += kThreads) {
    const int at = row * rows.actions + d;
    rows.mean[at] = rows.moved[at] = head[d];
    rows.std[at] = exp(log_std_of(spec.log_std, double{head[spec.actions + d]}));
  }
}

}  // namespace

void act(const GroupSpec& spec, const float* parameters, const float* statistics,
         const ActRows& rows, cudaStream_t stream) {
  launch(act_kernel, dim3(spec.agents), kThreads, 0, stream, spec, parameters, statistics, rows);
}

}  // namespace ovde::cuda::residual
