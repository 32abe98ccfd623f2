#include "cuda/kernels/explore/act.cuh"

#include <cmath>
#include <type_traits>

#include "agent/equations.h"
#include "cuda/kernels/explore/dense_layer.cuh"
#include "cuda/kernels/explore/rules.cuh"
#include "cuda/kernels/launch.cuh"

namespace ovde::cuda {

namespace {

constexpr int kThreads = 1024, kWarps = kThreads / 32, kParts = 8;

// The shared memory of one agent's block.
struct Shared : Exploration {
  float input[kMostInputs];
  float hidden[2][kMostHidden][kMostWidth];  // each critic's; the actor uses the first
  float delta[2][2][kMostWidth];             // each critic's, for this layer and the next
  float partial[2][kParts][kMostWidth];      // sums over a part of a layer's outputs
  float normal[2][kMostHidden][kMostWidth];  // each critic's normalised sums
  float scale[2][kMostHidden];
  double m;
};

// Normalises a hidden layer's sums, then gain, shift and ReLU; by one warp.
__device__ void normalise(Shared& shared, int slot, int l, const float* parameters,
                          const LayerShape& layer) {
  const int units = layer.outputs;
  float *y = shared.hidden[slot][l], *n = shared.normal[slot][l];
  const int lane = threadIdx.x % 32;
  float sum = 0, squares = 0;
  for (int i = lane; i < units; i += 32) sum += y[i];
  const float mean = sum_of_warp(sum) / units;
  for (int i = lane; i < units; i += 32) squares += (y[i] - mean) * (y[i] - mean);
  const float scale = 1 / sqrtf(sum_of_warp(squares) / units + kNormEpsilon);
  for (int i = lane; i < units; i += 32) {
    n[i] = (y[i] - mean) * scale;
    y[i] = relu(n[i] * parameters[layer.gain + i] + parameters[layer.shift + i]);
  }
  if (lane == 0) shared.scale[slot][l] = scale;
}

// From the gradient of a layer's output, masked by its ReLU, to that of its sums, in place; by one
// warp.
__device__ void back_through_norm(const Shared& shared, int slot, int l, const float* parameters,
                                  const LayerShape& layer, float* d) {
  const int units = layer.outputs;
  const float* n = shared.normal[slot][l];
  const int lane = threadIdx.x % 32;
  float sum = 0, products = 0;
  for (int i = lane; i < units; i += 32) {
    d[i] *= parameters[layer.gain + i];
    sum += d[i];
    products += d[i] * n[i];
  }
  const float mean = sum_of_warp(sum) / units, correlation = sum_of_warp(products) / units;
  for (int i = lane; i < units; i += 32)
    d[i] = shared.scale[slot][l] * (d[i] - mean - n[i] * correlation);
}

// A network at shared.input; ends with a barrier. Inputs beyond a layer's own are zero, as are the
// weights there.
__device__ void run_network(const float* parameters, const NetworkShape& shape, Shared& shared,
                            int slot, int warp, int warps, float* output) {
  for (int l = 0; l < shape.layers; ++l) {
    const bool last = l == shape.layers - 1;
    const bool norm = shape.norm && !last;
    dense(parameters, shape.layer[l], l == 0 ? shared.input : shared.hidden[slot][l - 1],
          !last && !norm, warp, warps, last ? output : shared.hidden[slot][l]);
    __syncthreads();
    if (norm) {
      if (warp == 0) normalise(shared, slot, l, parameters, shape.layer[l]);
      __syncthreads();
    }
  }
}

// The critic of this thread: each has half of the threads.
__device__ int side() { return threadIdx.x / 512; }

// This thread's critic at shared.input, with its output in shared.by_quantile; ends with a barrier.
__device__ void run_critic(const Agent& agent, const float* parameters, Shared& shared) {
  const int warp = threadIdx.x / 32;
  run_network(parameters, agent.critic_shape, shared, side(), warp % 16, 16,
              shared.by_quantile[side()]);
}

// From shared.by_quantile to shared.by_action, after run_critic(); ends with a barrier.
__device__ void action_gradient(const Agent& agent, const float* parameters, Shared& shared) {
  const NetworkShape& shape = agent.critic_shape;
  const int k = side(), t = threadIdx.x % 512, column = t % 64 * 4, part = t / 64;
  const float* delta = shared.by_quantile[k];
  for (int l = shape.layers - 1; l > 0; --l) {
    const LayerShape layer = shape.layer[l];
    float4 sum = make_float4(0, 0, 0, 0);
    if (column < layer.stride) {
      const float* weights = parameters + layer.weights + column;
#pragma unroll 16
      for (int o = part; o < layer.outputs; o += kParts) {
        const float4 w = *reinterpret_cast<const float4*>(weights + o * layer.stride);
        sum.x += delta[o] * w.x;
        sum.y += delta[o] * w.y;
        sum.z += delta[o] * w.z;
        sum.w += delta[o] * w.w;
      }
    }
    *reinterpret_cast<float4*>(&shared.partial[k][part][column]) = sum;
    __syncthreads();
    float* below = shared.delta[k][l % 2];
    if (t < layer.inputs) {
      float total = 0;
      for (int p = 0; p < kParts; ++p) total += shared.partial[k][p][t];
      below[t] = shared.hidden[k][l - 1][t] > 0 ? total : 0.0f;
    }
    __syncthreads();
    if (shape.norm) {
      if (t < 32) back_through_norm(shared, k, l - 1, parameters, shape.layer[l - 1], below);
      __syncthreads();
    }
    delta = below;
  }

  const LayerShape layer = shape.layer[0];
  const int lane = t % 32;
  for (int d = t / 32; d < agent.actions; d += 16) {
    float sum = 0;
    for (int o = lane; o < layer.outputs; o += 32)
      sum += delta[o] * parameters[layer.weights + o * layer.stride + agent.observations + d];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
    if (lane == 0) shared.by_action[k][d] = sum;
  }
  __syncthreads();
}

// Inputs of the explorers whose critics take fractions (act_iqn.cu).
__device__ void hand_over(const Agent& agent, const Shared& shared, bool plain) {
  const IqnActing& acting = agent.acting;
  if (threadIdx.x == 0) *acting.explores = !plain;
  if (threadIdx.x < 2 * agent.actions) acting.head[threadIdx.x] = shared.head[threadIdx.x];
  if (threadIdx.x < agent.observations + agent.actions)
    acting.input[threadIdx.x] = shared.input[threadIdx.x];
}

// blockIdx: agent
__global__ void __launch_bounds__(kThreads) act(const Agent* agents, ActExchange exchange) {
  __shared__ Shared shared;
  const int index = blockIdx.x;
  const Agent& agent = agents[index];
  if (agent.is_grid()) return;  // cuda/kernels/discrete/act.cu
  const int warp = threadIdx.x / 32, actions = agent.actions;
  for (int i = threadIdx.x; i < kMostInputs; i += kThreads)
    shared.input[i] =
        i < agent.observations ? exchange.observation[index * exchange.observations + i] : 0.0f;
  for (int i = threadIdx.x; i < 2 * kMostHidden * kMostWidth; i += kThreads)
    (&shared.hidden[0][0][0])[i] = 0;
  __syncthreads();

  // the policy
  run_network(agent.actor_net.parameters, agent.actor_shape, shared, 0, warp, kWarps, shared.head);
  take_head(shared, actions, agent.is_deterministic());
  if (threadIdx.x < actions) {
    const int d = threadIdx.x, at = index * exchange.actions + d;
    exchange.mean[at] = shared.head[d];
    exchange.std[at] = shared.std[d];
    shared.input[agent.observations + d] = shared.action[d];
  }
  const DeviceRule& explorer = agent.explorer;
  const bool plain = !explorer.explores() || exchange.plain[index];
  __syncthreads();
  if (agent.iqn && explorer.explores()) hand_over(agent, shared, plain);

  shared.m = nan("");
  if (!plain && !agent.iqn) {
    // the critics at the policy's own action; the actor's activations are no longer needed
    const float* parameters = agent.critic_net[side()].parameters;
    run_critic(agent, parameters, shared);
    for (int i = threadIdx.x; i < 2 * agent.critic.quantiles; i += kThreads) {
      const int critic = i / agent.critic.quantiles, at = i % agent.critic.quantiles;
      shared.z[critic][at] = shared.by_quantile[critic][at];
      shared.weight[at] = 1;
    }
    __syncthreads();

    explorer.visit([&](const auto& rule) {
      typename std::decay_t<decltype(rule)>::Belief belief{};
      if (warp == 0)
        belief = believe(rule, shared, agent.critic.quantiles, agent.critic.uncertainty);
      const int samples = max(rule.samples, 1);
      double m_sum = 0;
      for (int sample = 0; sample < samples; ++sample) {
        double m = 0;
        if (warp == 0) {
          const double noise =
              rule.samples > 0 ? exchange.explorer_noise[index * exchange.samples + sample] : 0;
          m = weigh(rule, shared, agent.critic.quantiles, agent.critic.uncertainty, belief, noise);
        }
        m_sum += m;
        __syncthreads();
        action_gradient(agent, parameters, shared);
        if (warp == 0) move(rule, shared, actions, m);
        __syncthreads();
      }
      if (threadIdx.x == 0) shared.m = m_sum / samples;
    });
    __syncthreads();
  }
  if (threadIdx.x < actions)
    exchange.moved[index * exchange.actions + threadIdx.x] = shared.moved[threadIdx.x];
  if (threadIdx.x == 0) exchange.m[index] = shared.m;
}

}  // namespace

void enqueue_act(const Agent* agents, const ActExchange& exchange, cudaStream_t stream) {
  launch(act, dim3(exchange.agents), kThreads, 0, stream, agents, exchange);
}

}  // namespace ovde::cuda
