// The explorers whose critics take fractions as inputs: both critics at one new set of fractions,
// then the steps of the mean. Always in fp32.
#include "cuda/kernels/explore/act.cuh"
#include "cuda/kernels/explore/rules.cuh"
#include "cuda/kernels/update.cuh"
#include "cuda/tile/iqn_network.cuh"

namespace ovde::cuda {

namespace {

// A tile of size 0 or 1 holds the fractions of one sample.
template <int kSize>
using Features = FeaturePass<true, kSize>;
template <int kSize>
using Critic = FractionPass<true, kSize>;

__device__ bool explores(const Agent& agent) {
  return agent.iqn && agent.explorer.explores() && *agent.acting.explores;
}

// Evaluates critic blockIdx.x at the fractions that the host has drawn.
template <Way kWay, int kSize>
__device__ void evaluate(IqnTile<true, kSize>& tile, const Agent& agent,
                         const ActExchange& exchange, const IqnRows& rows,
                         Features<kSize>& features, Critic<kSize>& critic,
                         typename Critic<kSize>::Product& out) {
  features.begin();
  const float* numbers = exchange.fraction + blockIdx.z * exchange.fractions;
  draw_fractions(
      tile.value, rows.fractions, rows.fractions, [=](int r) { return numbers[r]; },
      [&](int r, float fraction, float weight) {
        tile.tau[r] = fraction;
        tile.weight[r] = weight;
      });
  set_rows(tile, rows, [&](int r) { return tile.tau[r]; });
  const int stride = agent.state_action_stride;
  fill(tile, multiple_of_32(stride),
       [&](int r, int i) { return r == 0 && i < stride ? agent.acting.input[i] : 0.0f; });
  features.forward(last_features(agent, blockIdx.x), kWay != Way::none);
  critic.begin();
  critic.template forward<kWay>(out, nullptr);
}

// z of critic blockIdx.x. blockIdx in all kernels here: (critic, sample, agent); 0 where there is
// no critic or sample
template <int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, 1)
    values_kernel(const Agent* agents, ActExchange exchange) {
  const Agent& agent = agents[blockIdx.z];
  if (!explores(agent)) return;
  const int k = blockIdx.x, r = threadIdx.x;
  auto& tile = shared_as<IqnTile<true, kSize>>();
  const IqnRows rows = {agent.critic.quantiles, 0, 1}, sample = {1, 0, 1};
  const PassParameters network = {agent.critic_net[k].parameters};
  Features<kSize> features(tile, network, agent.iqn_shape, agent.iqn_trace[k], sample);
  Critic<kSize> critic(tile, network, agent.iqn_shape, agent.iqn_trace[k], rows,
                       last_features(agent, k));
  typename Critic<kSize>::Product out;
  evaluate<Way::none>(tile, agent, exchange, rows, features, critic, out);
  if (!rows.has(r)) return;
  agent.acting.values[k][r] = tile.value[r];
  if (k == 0) agent.acting.weights[r] = agent.has_equal_weights() ? 1 : tile.weight[r];
}

// The direction of each sample's step and its weight m: one warp.
__global__ void __launch_bounds__(32) directions_kernel(const Agent* agents, ActExchange exchange) {
  const Agent& agent = agents[blockIdx.z];
  if (!explores(agent)) return;
  __shared__ Exploration at;
  const IqnActing& acting = agent.acting;
  const int n = agent.critic.quantiles, i = threadIdx.x;
  if (i < n) {
    for (int k = 0; k < 2; ++k) at.z[k][i] = acting.values[k][i];
    at.weight[i] = acting.weights[i];
  }
  __syncwarp();
  const double* noise = exchange.explorer_noise + blockIdx.z * exchange.samples;
  agent.explorer.visit([&](const auto& rule) {
    const auto belief = believe(rule, at, n, agent.critic.uncertainty);
    const int samples = max(rule.samples, 1);
    double m_sum = 0;
    for (int sample = 0; sample < samples; ++sample) {
      const double m = weigh(rule, at, n, agent.critic.uncertainty, belief,
                             rule.samples > 0 ? noise[sample] : 0);
      for (int k = 0; i < n && k < 2; ++k)
        acting.by_quantile[(2 * sample + k) * n + i] = at.by_quantile[k][i];
      if (i == 0) acting.m[sample] = m;
      m_sum += m;
      __syncwarp();
    }
    if (i == 0) exchange.m[blockIdx.z] = m_sum / samples;
  });
}

// The gradient of critic blockIdx.x by the action, for each of these directions.
template <int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, 1)
    gradients_kernel(const Agent* agents, ActExchange exchange) {
  const Agent& agent = agents[blockIdx.z];
  if (!explores(agent)) return;
  const IqnActing& acting = agent.acting;
  const int k = blockIdx.x, r = threadIdx.x, n = agent.critic.quantiles, actions = agent.actions;
  auto& tile = shared_as<IqnTile<true, kSize>>();
  const int place = blockIdx.y;  // in the trace, which holds a batch
  const IqnRows rows = {n, place, 1}, one = {1, place, 1};
  const PassParameters network = {agent.critic_net[k].parameters};
  Features<kSize> features(tile, network, agent.iqn_shape, agent.iqn_trace[k], one);
  Critic<kSize> critic(tile, network, agent.iqn_shape, agent.iqn_trace[k], rows,
                       last_features(agent, k));
  for (int sample = place; sample < max(agent.explorer.samples(), 1); sample += gridDim.y) {
    typename Critic<kSize>::Product out;
    evaluate<Way::to_inputs>(tile, agent, exchange, rows, features, critic, out);
    if (r < Tile<kSize>::kRows)
      tile.slope[r] = r < n ? acting.by_quantile[(2 * sample + k) * n + r] : 0.0f;
    __syncthreads();
    critic.template backward<Way::to_inputs>(out);
    features.begin_backward();
    features.template backward<Way::to_inputs>();
    to_actions(tile, network.values, agent.iqn_shape.layer[0], agent.observations, actions);
    for_each_row<kSize>([&](int row, int d) {
      if (row == 0 && d < actions) acting.by_action[k][sample * actions + d] = tile.x[row][d];
    });
    __syncthreads();  // the next sample fills x
  }
}

// Moves the mean: one warp.
__global__ void __launch_bounds__(32) move_kernel(const Agent* agents, ActExchange exchange) {
  const Agent& agent = agents[blockIdx.z];
  if (!explores(agent)) return;
  __shared__ Exploration at;
  const IqnActing& acting = agent.acting;
  const int actions = agent.actions, d = threadIdx.x;
  if (d < 2 * actions) at.head[d] = acting.head[d];
  __syncwarp();
  take_head(at, actions, agent.is_deterministic());
  __syncwarp();
  agent.explorer.visit([&](const auto& rule) {
    for (int sample = 0; sample < max(rule.samples, 1); ++sample) {
      for (int k = 0; d < actions && k < 2; ++k)
        at.by_action[k][d] = acting.by_action[k][sample * actions + d];
      __syncwarp();
      move(rule, at, actions, acting.m[sample]);
    }
  });
  if (d < actions) exchange.moved[blockIdx.z * exchange.actions + d] = at.moved[d];
}

}  // namespace

void enqueue_iqn_act(const Agent* agents, const ActExchange& exchange, cudaStream_t stream) {
  constexpr int kThreads = Tile<1>::kThreads;
  const bool is_small = exchange.size == 0;
  const int bytes = is_small ? sizeof(IqnTile<true, 0>) : sizeof(IqnTile<true, 1>);
  const auto values = is_small ? values_kernel<0> : values_kernel<1>;
  const auto gradients = is_small ? gradients_kernel<0> : gradients_kernel<1>;
  const auto enqueue = [&](auto kernel, int parts, int samples, int threads, int bytes) {
    launch(kernel, dim3(parts, samples, exchange.agents), threads, bytes, stream, agents, exchange);
  };
  enqueue(values, 2, 1, kThreads, bytes);
  enqueue(directions_kernel, 1, 1, 32, 0);
  enqueue(gradients, 2, exchange.together, kThreads, bytes);
  enqueue(move_kernel, 1, 1, 32, 0);
}

}  // namespace ovde::cuda
