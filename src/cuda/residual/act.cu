#include "cuda/residual/act.h"

#include <cmath>
#include <type_traits>

#include "agent/critic/support.h"
#include "agent/equations.h"
#include "cuda/kernels/explore/rules.cuh"
#include "cuda/kernels/launch.cuh"
#include "cuda/residual/network.h"
#include "cuda/tile/fours.cuh"
#include "cuda/tile/warp.cuh"

namespace ovde::cuda::residual {

namespace {

constexpr int kActThreads = 512, kActWarps = kActThreads / 32;

// Sums over parts of a layer's outputs: four for each thread.
using Parts = float[4 * kActThreads];

// A network in acting. Every function ends with a barrier.
struct Acting {
  const ResidualShape& shape;
  const float *parameters, *statistics;

  __device__ Acting(const ResidualShape& shape, const ActNetworks& networks, int number)
      : shape(shape),
        parameters(networks.parameters + 1LL * number * shape.size),
        statistics(networks.statistics + 1LL * number * shape.statistics) {}

  // The derivative of a batch norm.
  __device__ float slope(const NormPart& part, int i) const {
    return parameters[part.gain + i] / sqrtf(statistics[part.variance + i] + kNormEpsilon);
  }
  __device__ float normalised(const NormPart& part, int i, float x) const {
    const float scale = 1 / sqrtf(statistics[part.variance + i] + kNormEpsilon);
    return (x - statistics[part.mean + i]) * scale * parameters[part.gain + i] +
           parameters[part.shift + i];
  }
  // Calls use(output, sum) for each output of a layer in one lane of a warp. x has zeros up to the
  // stride. Several outputs at once: the time goes into waiting for weights.
  template <typename Use>
  __device__ void multiply(const LinearPart& part, const float* x, Use&& use) const {
    constexpr int kAtOnce = 8;
    const int lane = threadIdx.x % 32;
    for (int first = threadIdx.x / 32; first < part.outputs; first += kAtOnce * kActWarps) {
      float sum[kAtOnce] = {}, mine = 0;
#pragma unroll 2
      for (int i = 4 * lane; i < part.stride; i += 128) {
        const float4 inputs = load_four(x + i);
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) {
          const int o = min(first + k * kActWarps, part.outputs - 1);
          sum[k] +=
              sum_of_four(load_four(parameters + part.weights + o * part.stride + i) * inputs);
        }
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        sum[k] = sum_of_warp(sum[k]);
        if (lane == k) mine = sum[k];
      }
      if (const int o = first + lane * kActWarps; lane < kAtOnce && o < part.outputs) use(o, mine);
    }
    __syncthreads();
  }
  // Calls use(input, sum) for each input of a layer from `first` on: the product with the
  // transposed weights. A thread sums four inputs over a part of the outputs; unrolled, for many
  // loads at a time.
  template <typename Use>
  __device__ void multiply_back(const LinearPart& part, int first, const float* d, Parts& parts,
                                Use&& use) const {
    const int fours = part.stride / 4, count = kActThreads / fours;
    const int four = threadIdx.x % fours, mine = threadIdx.x / fours;
    const float* w = parameters + part.weights + 4 * four;
    float4 sum = all_four(0);
    if (mine < count) {
#pragma unroll 16
      for (int o = mine; o < part.outputs; o += count)
        sum = sum + d[o] * load_four(w + o * part.stride);
    }
    store_four(parts + 4 * threadIdx.x, sum);
    __syncthreads();
    for (int i = first + threadIdx.x; i < part.inputs; i += kActThreads) {
      float total = 0;
      for (int p = 0; p < count; ++p) total += parts[p * part.stride + i];
      use(i, total);
    }
    __syncthreads();
  }
  // The sum over the units, by every warp alike.
  template <typename Term>
  __device__ float sum_of_units(Term&& term) const {
    float sum = 0;
    for (int i = threadIdx.x % 32; i < shape.width(); i += 32) sum += term(i);
    sum = sum_of_warp(sum);
    __syncthreads();
    return sum;
  }
};

// Memory of a block for the passes, and the numbers of a critic's forward pass that its backward
// pass needs.
struct alignas(16) Passes {
  float input[kMostInputs], stream[kMostWidth], hidden[kMostExpanded], delta[kMostWidth];
};
struct Kept {
  bool up[kMostBlocks][kMostExpanded], down[kMostBlocks][kMostWidth];  // where ReLUs are open
  float stream[kMostWidth], scale;  // the input of the RMS norm, and its factor
};

// The outputs at at.input. `kept` may be null.
__device__ void forward(const Acting& net, Passes& at, Kept* kept, float* output) {
  const ResidualShape& shape = net.shape;
  for (int i = threadIdx.x; i < shape.input.stride; i += kActThreads)
    at.hidden[i] = i < shape.input.inputs ? net.normalised(shape.input_norm, i, at.input[i]) : 0.0f;
  __syncthreads();
  net.multiply(shape.input, at.hidden, [&](int o, float sum) { at.stream[o] = sum; });
  for (int b = 0; b < shape.blocks; ++b) {
    const ResidualShape::Block& block = shape.block[b];
    net.multiply(block.up, at.stream, [&](int o, float sum) {
      const float y = net.normalised(block.up_norm, o, sum);
      if (kept) kept->up[b][o] = y > 0;
      at.hidden[o] = relu(y);
    });
    net.multiply(block.down, at.hidden, [&](int o, float sum) {
      const float y = net.normalised(block.down_norm, o, sum);
      if (kept) kept->down[b][o] = y > 0;
      at.stream[o] += relu(y);
    });
  }
  const float squares = net.sum_of_units([&](int i) { return at.stream[i] * at.stream[i]; });
  const float scale = 1 / sqrtf(squares / shape.width() + kRmsNormEpsilon);
  for (int i = threadIdx.x; i < shape.width(); i += kActThreads) {
    if (kept) kept->stream[i] = at.stream[i];
    at.hidden[i] = scale * at.stream[i] * net.parameters[shape.output_norm.gain + i];
  }
  if (kept && threadIdx.x == 0) kept->scale = scale;
  __syncthreads();
  net.multiply(shape.head, at.hidden,
               [&](int o, float sum) { output[o] = sum + net.parameters[shape.bias + o]; });
}

// From the gradient of the outputs to that of the inputs from `first` on.
__device__ void backward(const Acting& net, const Kept& kept, const float* by_output, int first,
                         Passes& at, Parts& parts, float* by_input) {
  const ResidualShape& shape = net.shape;
  net.multiply_back(shape.head, 0, by_output, parts, [&](int i, float sum) {
    at.stream[i] = sum * net.parameters[shape.output_norm.gain + i];
  });
  const float along = net.sum_of_units([&](int i) { return at.stream[i] * kept.stream[i]; }) *
                      kept.scale * kept.scale / shape.width();
  for (int i = threadIdx.x; i < shape.width(); i += kActThreads)
    at.stream[i] = kept.scale * (at.stream[i] - along * kept.stream[i]);
  __syncthreads();
  for (int b = shape.blocks - 1; b >= 0; --b) {
    const ResidualShape::Block& block = shape.block[b];
    for (int i = threadIdx.x; i < shape.width(); i += kActThreads)
      at.delta[i] = kept.down[b][i] ? at.stream[i] * net.slope(block.down_norm, i) : 0.0f;
    __syncthreads();
    net.multiply_back(block.down, 0, at.delta, parts, [&](int i, float sum) {
      at.hidden[i] = kept.up[b][i] ? sum * net.slope(block.up_norm, i) : 0.0f;
    });
    net.multiply_back(block.up, 0, at.hidden, parts,
                      [&](int i, float sum) { at.stream[i] += sum; });
  }
  net.multiply_back(shape.input, first, at.stream, parts, [&](int i, float sum) {
    by_input[i - first] = sum * net.slope(shape.input_norm, i);
  });
}

// ---- explorers

struct Shared : Passes {
  float head[kMostOutputs];
};
struct ExplorerShared : ExplorationOf<kMostExplorerActions> {
  alignas(16) Parts parts;
  Kept kept[2];
  float output[2][kMostOutputs];  // logits, then the gradient by them
  double probability[2][kMostOutputs];
  double m;
};

// Quantiles of critic k from its logits, by one thread.
__device__ void take_quantiles(const GroupSpec& spec, int k, ExplorerShared& at) {
  softmax(at.output[k], spec.critic.atoms, at.probability[k]);
  quantiles_of(Support(spec.critic), at.probability[k], spec.critic.quantiles, at.z[k]);
}

// Moves the mean once, from at.action. Returns m to the first warp.
template <typename Rule>
__device__ double climb(const Rule& rule, const GroupSpec& spec, const ActNetworks& critics,
                        const double* noise, Shared& passes, ExplorerShared& at) {
  const int agent = blockIdx.x, n = spec.critic.quantiles;
  const Acting nets[2] = {{spec.critic_shape, critics, 2 * agent},
                          {spec.critic_shape, critics, 2 * agent + 1}};
  for (int d = threadIdx.x; d < spec.action_size; d += kActThreads)
    passes.input[spec.observation_size + d] = at.action[d];
  __syncthreads();
  for (int k = 0; k < 2; ++k) forward(nets[k], passes, &at.kept[k], at.output[k]);
  if (threadIdx.x < 2) take_quantiles(spec, threadIdx.x, at);
  if (threadIdx.x < n) at.weight[threadIdx.x] = 1;
  __syncthreads();
  return take_steps(rule, at, n, spec.action_size, spec.critic.uncertainty, noise, [&] {
    if (const int k = threadIdx.x; k < 2)
      quantile_gradient(Support(spec.critic), at.probability[k], at.by_quantile[k], n,
                        at.output[k]);
    __syncthreads();
    for (int k = 0; k < 2; ++k)
      backward(nets[k], at.kept[k], at.output[k], spec.observation_size, passes, at.parts,
               at.by_action[k]);
  });
}

// The explorer's steps of the mean, the first from the policy's own action, which is in at.action.
__device__ void explore(const DeviceRule& explorer, const GroupSpec& spec,
                        const ActNetworks& critics, const double* noise, Shared& passes,
                        ExplorerShared& at) {
  explorer.visit([&](const auto& rule) {
    double m_sum = 0;
    for (int ascent = 0; ascent < rule.ascents; ++ascent) {
      if (const int d = threadIdx.x; ascent > 0 && d < spec.action_size)
        at.action[d] = static_cast<float>(tanh(at.moved[d]));
      m_sum += climb(rule, spec, critics, noise, passes, at);
    }
    if (threadIdx.x == 0) at.m = m_sum / rule.ascents;
  });
  __syncthreads();
}

// blockIdx: agent
template <bool kExplores>
__global__ void __launch_bounds__(kActThreads)
    act_kernel(GroupSpec spec, ActNetworks actors, ActNetworks critics, ActRows rows) {
  __shared__ Shared shared;
  const int agent = blockIdx.x, row = rows.place[agent];
  if (spec.scouts && (rows.plain[row] || !rows.scouts[row])) return;
  for (int i = threadIdx.x; i < spec.observation_size; i += kActThreads)
    shared.input[i] = rows.observation[row * rows.observations + i];
  __syncthreads();
  forward(Acting(spec.actor_shape, actors, agent), shared, nullptr, shared.head);
  if (threadIdx.x == 0) rows.m[row] = NAN;
  for (int d = threadIdx.x; d < spec.action_size; d += kActThreads) {
    const int at = row * rows.actions + d;
    rows.mean[at] = rows.moved[at] = shared.head[d];
    rows.std[at] = exp(log_std_of(spec.log_std, double{shared.head[spec.action_size + d]}));
  }
  if constexpr (kExplores) {
    __shared__ ExplorerShared explorer;
    if (rows.plain[row] || !rows.explorer[row].explores()) return;
    for (int d = threadIdx.x; d < spec.action_size; d += kActThreads) {
      explorer.std[d] = rows.std[row * rows.actions + d];
      explorer.moved[d] = shared.head[d];
      explorer.action[d] = static_cast<float>(tanh(double{shared.head[d]}));
    }
    __syncthreads();
    explore(rows.explorer[row], spec, critics, rows.explorer_noise + row * rows.samples, shared,
            explorer);
    for (int d = threadIdx.x; d < spec.action_size; d += kActThreads)
      rows.moved[row * rows.actions + d] = explorer.moved[d];
    if (threadIdx.x == 0) rows.m[row] = explorer.m;
  }
}

}  // namespace

void act(const GroupSpec& spec, const ActNetworks& actors, const ActNetworks& critics,
         const ActRows& rows, bool explores, cudaStream_t stream) {
  launch(explores ? act_kernel<true> : act_kernel<false>, dim3(spec.agents), kActThreads, 0, stream,
         spec, actors, critics, rows);
}

}  // namespace ovde::cuda::residual
