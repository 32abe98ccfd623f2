// Information-directed sampling (agent/discrete/agent.cpp) for the agents over a grid of actions:
// networks in fp32, the rule in double precision.
#include "cuda/kernels/discrete/output_layer.cuh"
#include "cuda/kernels/explore/act.cuh"
#include "cuda/kernels/explore/dense_layer.cuh"
#include "cuda/kernels/explore/rules.cuh"
#include "cuda/kernels/launch.cuh"

namespace ovde::cuda {

namespace {

constexpr int kWarps = 8;

__device__ bool explores(const Agent& agent, const ActExchange& exchange, int index) {
  return agent.is_grid() && !exchange.plain[index];
}

// The last hidden layer of critic blockIdx.x. blockIdx: (critic, agent)
__global__ void __launch_bounds__(32 * kWarps)
    hidden_kernel(const Agent* agents, ActExchange exchange) {
  const int k = blockIdx.x, index = blockIdx.y;
  const Agent& agent = agents[index];
  if (!explores(agent, exchange, index)) return;
  __shared__ __align__(16) float layers[2][kMostInputs];
  for (int i = threadIdx.x; i < kMostInputs; i += blockDim.x) {
    layers[0][i] =
        i < agent.observations ? exchange.observation[index * exchange.observations + i] : 0.0f;
    layers[1][i] = 0;
  }
  __syncthreads();
  const NetworkShape& trunk = agent.trunk_shape;
  for (int l = 0; l < trunk.layers; ++l) {
    // weights beyond a layer's inputs are zero
    dense(agent.critic_net[k].parameters, trunk.layer[l], layers[l % 2], true, threadIdx.x / 32,
          kWarps, layers[(l + 1) % 2]);
    __syncthreads();
  }
  for (int i = threadIdx.x; i < ActionRows::output_layer(agent).stride; i += blockDim.x)
    agent.grid.hidden[k][i] =
        i < trunk.layer[trunk.layers - 1].outputs ? layers[trunk.layers % 2][i] : 0;
}

// Both critics' estimates for an action, a warp for each. blockIdx: (kWarps actions, agent)
__global__ void __launch_bounds__(32 * kWarps)
    arms_kernel(const Agent* agents, ActExchange exchange) {
  const int index = blockIdx.y, a = blockIdx.x * kWarps + threadIdx.x / 32;
  const Agent& agent = agents[index];
  if (!explores(agent, exchange, index) || a >= agent.choices) return;
  const Warp warp;
  const int n = agent.critic.quantiles;
  double z[2], mean[2];
  for (int k = 0; k < 2; ++k) {
    const ActionRows rows(agent, agent.critic_net[k].parameters, a);
    z[k] = rows.quantile({agent.grid.hidden[k], rows.stride});
    mean[k] = warp.sum(n, [&](int) { return z[k]; }) / n;
  }
  const double both = (mean[0] + mean[1]) / 2;
  const double variance = warp.sum(n, [&](int) {
    const double deviation = (z[0] + z[1]) / 2 - both;
    return deviation * deviation / n;
  });
  if (threadIdx.x % 32 == 0) agent.grid.arms[a] = {both, abs(mean[0] - mean[1]) / 2, variance};
}

// The action with the smallest regret^2 / information, the first of equals. One warp for an agent.
__global__ void __launch_bounds__(32) choice_kernel(const Agent* agents, ActExchange exchange) {
  const int index = blockIdx.x;
  const Agent& agent = agents[index];
  if (!explores(agent, exchange, index)) return;
  const int lane = threadIdx.x, actions = agent.choices;
  const IdsArm* arms = agent.grid.arms;
  const IdsRule rule{agent.ids.lambda};
  double best_bound = -INFINITY;
  for (int a = lane; a < actions; a += 32) best_bound = fmax(best_bound, rule.upper_bound(arms[a]));
  for (int offset = 16; offset > 0; offset /= 2)
    best_bound = fmax(best_bound, __shfl_xor_sync(~0u, best_bound, offset));
  const double mean_variance =
      Warp{}.sum(actions, [&](int a) { return arms[a].variance / actions; });

  double smallest = INFINITY;
  int choice = actions;
  for (int a = lane; a < actions; a += 32) {
    const double ratio = rule.ratio(arms[a], best_bound, mean_variance);
    if (ratio < smallest) {
      smallest = ratio;
      choice = a;
    }
  }
  choice = index_of_largest(-smallest, choice);
  if (lane == 0) exchange.choice[index] = choice == actions ? 0 : choice;
}

}  // namespace

void enqueue_grid_act(const Agent* agents, int choices, const ActExchange& exchange,
                      cudaStream_t stream) {
  launch(hidden_kernel, dim3(2, exchange.agents), 32 * kWarps, 0, stream, agents, exchange);
  launch(arms_kernel, dim3((choices + kWarps - 1) / kWarps, exchange.agents), 32 * kWarps, 0,
         stream, agents, exchange);
  launch(choice_kernel, dim3(exchange.agents), 32, 0, stream, agents, exchange);
}

}  // namespace ovde::cuda
