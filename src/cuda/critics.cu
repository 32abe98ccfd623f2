// The critics with fixed fractions: their loss against the targets with its gradient, and their
// values at new actions.
#include "cuda/critics.cuh"
#include "cuda/kernels.cuh"
#include "cuda/truncation.cuh"

namespace ovde::cuda {

namespace {

// What critic k of an ensemble says of sample s without having learnt it, by a warp; the two have
// no prior.
__device__ float prior_of(const Agent& agent, int k, int s) {
  if (k < 2) return 0;
  const int n = agent.quantiles, lane = threadIdx.x % 32;
  return agent.prior_scale * sum_of_warp(lane < n ? __ldg(agent.at_state[k] + s * n + lane) : 0.0f);
}

// The targets of critic k for sample s where the largest values are left out.
__device__ void truncated_targets(const Agent& agent, int k, int s, float alpha, float* out) {
  const int n = agent.quantiles, at = s * n + min(static_cast<int>(threadIdx.x % 32), n - 1);
  const float reward = __ldg(agent.reward + s), continues = __ldg(agent.continues + s),
              entropy = alpha * __ldg(agent.next_log_probability + s),
              prior = prior_of(agent, k, s);
  keep_smallest(__ldg(agent.next_quantiles[0] + at), __ldg(agent.next_quantiles[1] + at), n,
                target_count(agent), [&](int place, float z) {
                  out[place] = td_target(reward, continues, z, z, entropy) - prior;
                });
}

// The samples' (s, a), zero beyond them.
template <typename T>
__device__ void fill_state_action(T& tile, const Agent& agent, int first_sample) {
  const int stride = agent.critic_shape.layer[0].stride;
  const float* state_action = agent.state_action;
  fill(tile, multiple_of_32(stride), [=](int r, int i) {
    return i < stride ? __ldg(state_action + (first_sample + r) * stride + i) : 0.0f;
  });
}

// blockIdx: (tile of samples, critic, agent)
template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    at_state_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const int k = blockIdx.y, first_sample = blockIdx.x * Tile<kSize>::kRows, n = agent.quantiles;
  if (k >= agent.critics || agent.at_state[k] == nullptr || first_sample >= agent.batch) return;
  auto& tile = shared_as<TileFor<kExact, kSize>>();
  const PassParameters net = target(agent.critic[k], agent.critic_half[k]);
  begin_forward(tile, net, agent.critic_shape);
  fill_state_action(tile, agent, first_sample);
  with_norm(agent.critic_shape, [&](auto norm) {
    forward<norm>(tile, net, agent.critic_shape, first_sample, nullptr, nullptr);
  });
  float* quantiles = agent.at_state[k];
  for_each_row<kSize>([&](int r, int i) {
    if (i < n) quantiles[(first_sample + r) * n + i] = tile.result(r, i);
  });
}

// Results: z in columns 0 .. N - 1. Leaves the gradient of the loss, summed over the batch, in x,
// zero up to column 32, and the loss of each row. A warp has whole rows: nobody else reads or
// writes them.
template <bool kExact, int kSize>
__device__ void critic_loss(TileFor<kExact, kSize>& tile, const Agent& agent, int k,
                            int first_sample, float alpha) {
  constexpr int kTargets = kMostOutputs;  // columns of results from here on
  constexpr int kEach = Tile<kSize>::kEach, kWarps = Tile<kSize>::kWarps;
  const int n = agent.quantiles, batch = agent.batch, lane = threadIdx.x % 32,
            warp = threadIdx.x / 32;
  const float *first = agent.next_quantiles[0], *second = agent.next_quantiles[1];
  const Blend blend = agent.blend;
  const float *rewards = agent.reward, *all_continue = agent.continues,
              *entropy = agent.next_log_probability;

  float y[kEach];  // the targets (Eq. 4)
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int s = first_sample + warp + kWarps * j, at = s * n + (lane < n ? lane : 0);
    y[j] = td_target(__ldg(rewards + s), __ldg(all_continue + s), __ldg(first + at),
                     __ldg(second + at), alpha * __ldg(entropy + s), blend);
  }
  if (k >= 2) {
#pragma unroll
    for (int j = 0; j < kEach; ++j) y[j] -= prior_of(agent, k, first_sample + warp + kWarps * j);
  }
  float z[kEach], slope[kEach], loss[kEach];
  const int targets = target_count(agent);
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    if (agent.dropped > 0) {
      truncated_targets(agent, k, first_sample + warp + kWarps * j, alpha,
                        &tile.result(warp + kWarps * j, kTargets));
    } else {
      tile.result(warp + kWarps * j, kTargets + lane) = y[j];
    }
    z[j] = tile.result(warp + kWarps * j, lane);
    slope[j] = loss[j] = 0;
  }
  __syncwarp();

  // quantile Huber loss (Eq. 2), or squared loss where there is one value
  if (agent.distributional) {
    const float above = (lane + 0.5f) / n, below = 1 - above;
    for (int i = 0; i < targets; ++i) {
#pragma unroll
      for (int j = 0; j < kEach; ++j) {
        const float u = tile.result(warp + kWarps * j, kTargets + i) - z[j];
        const auto term = quantile_huber(u, above, below, 1.0f);
        slope[j] -= term.slope;
        loss[j] += term.value;
      }
    }
  } else {
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      slope[j] = 2 * (z[j] - y[j]);
      loss[j] = (z[j] - y[j]) * (z[j] - y[j]);
    }
  }

  const int stride = stride_of_deltas(n);
  auto* delta = numbers<kExact>(agent.critic_trace[k].delta[agent.critic_shape.layers - 1]);
  float* losses = agent.critic_loss[k];
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const int s = first_sample + warp + kWarps * j;
    const bool counts = lane < n && s < batch;
    const float gradient = counts ? slope[j] * (1.0f / targets) : 0.0f;
    const float sum = sum_of_warp(counts ? loss[j] * (1.0f / targets) : 0.0f);
    tile.put(warp + kWarps * j, lane, gradient);
    if (lane < stride) store(delta[s * stride + lane], gradient);
    if (lane == 0) losses[s] = sum * (1.0f / batch);
  }
}

// blockIdx: (tile of samples, critic, agent)
template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    loss_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const int k = blockIdx.y, first_sample = blockIdx.x * Tile<kSize>::kRows;
  if (agent.iqn || k >= agent.critics || first_sample >= agent.batch) return;
  auto& tile = shared_as<TileFor<kExact, kSize>>();
  const PassParameters net = online(agent.critic[k], agent.critic_half[k]);
  const NetworkShape& shape = agent.critic_shape;
  begin_forward(tile, net, shape);
  const float alpha = next_temperature(tile, agent, blockIdx.x == 0 && k == 0);

  fill_state_action(tile, agent, first_sample);
  const Trace& trace = agent.critic_trace[k];
  with_norm(shape, [&](auto norm) {
    forward<norm>(tile, net, shape, first_sample, trace.hidden, &agent.norm_trace[k]);
    begin_backward(tile, net, shape);
    critic_loss<kExact, kSize>(tile, agent, k, first_sample, alpha);
    backward<norm>(tile, net, shape, first_sample, trace.delta, &agent.norm_trace[k]);
  });
}

// Q_k(s, a) = mean_i z_ki at the actor's new actions (Eq. 6, before the minimum), and its gradient
// with respect to the action. Where the smaller critic is chosen quantile by quantile, both
// critics' values come first, by a kernel of their own. blockIdx: (tile of samples, critic, agent)
template <bool kExact, int kSize, bool kValues>
__device__ void evaluate_at_new_actions(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const bool by_quantile = agent.smaller_by_quantile;
  const Blend blend = agent.blend;
  const int k = blockIdx.y, first_sample = blockIdx.x * Tile<kSize>::kRows;
  if (agent.iqn || first_sample >= agent.batch || (kValues && !by_quantile)) return;
  auto& tile = shared_as<TileFor<kExact, kSize>>();
  const int observations = agent.observations, actions = agent.actions, n = agent.quantiles;
  const PassParameters net = online(agent.critic[k], agent.critic_half[k]);
  const NetworkShape& shape = agent.critic_shape;
  begin_forward(tile, net, shape);
  const int stride = shape.layer[0].stride;
  const float *state_action = agent.state_action, *action = agent.action;
  fill(tile, multiple_of_32(stride), [=](int r, int i) {
    const int s = first_sample + r;
    return i < observations             ? __ldg(state_action + s * stride + i)
           : i < observations + actions ? __ldg(action + s * actions + i - observations)
                                        : 0.0f;
  });
  float *quantiles = agent.quantiles_at_new[k], *values = agent.value[k];
  const float *first = agent.quantiles_at_new[0], *second = agent.quantiles_at_new[1];
  with_norm(shape, [&](auto norm) {
    forward<norm>(tile, net, shape, first_sample, nullptr, &agent.norm_trace[k]);
    if (kValues) {
      for_each_row<kSize>([&](int r, int i) {
        if (i < n) quantiles[(first_sample + r) * n + i] = tile.result(r, i);
      });
      return;
    }
    begin_backward(tile, net, shape);

    for_each_row<kSize>([&](int r, int i) {
      float z = i < n ? tile.result(r, i) : 0.0f, share = i < n ? 1.0f : 0.0f;
      const int at = (first_sample + r) * n + i;
      if (by_quantile && i < n) {
        share = (first[at] <= second[at]) == (k == 0) ? blend.smaller : blend.larger;
        z = blended(blend, first[at], second[at]);
      } else if (i < n) {
        quantiles[at] = z;
      }
      const float sum = sum_of_warp(z);
      if (i == 0) values[first_sample + r] = sum / n;
      tile.put(r, i, share / n);
    });
    backward<norm>(tile, net, shape, first_sample, nullptr, &agent.norm_trace[k]);
  });
  if (kValues) return;

  to_actions(tile, net.values, shape.layer[0], observations, actions);
  float* gradient = agent.action_gradient[k];
  for_each_row<kSize>([&](int r, int i) {
    if (i < actions) gradient[(first_sample + r) * actions + i] = tile.result(r, i);
  });
}

template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    values_kernel(const Agent* agents) {
  evaluate_at_new_actions<kExact, kSize, true>(agents);
}

template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    new_actions_kernel(const Agent* agents) {
  evaluate_at_new_actions<kExact, kSize, false>(agents);
}

}  // namespace

void evaluate_targets_at_state(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  OVDE_LAUNCH_TILED(at_state_kernel, plan, plan.critics, agents, stream);
}

void differentiate_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  OVDE_LAUNCH_TILED(loss_kernel, plan, plan.critics, agents, stream);
}

void evaluate_new_actions(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  if (plan.by_quantile) OVDE_LAUNCH_TILED(values_kernel, plan, 2, agents, stream);
  OVDE_LAUNCH_TILED(new_actions_kernel, plan, 2, agents, stream);
}

}  // namespace ovde::cuda
