// The critics with fixed fractions: their loss with its gradient, and their values at the policy's
// actions.
#include "cuda/kernels/batch.cuh"
#include "cuda/kernels/counters.cuh"
#include "cuda/kernels/update.cuh"

namespace ovde::cuda {

namespace {

// ---- TQC's targets: the truncated mixture of two critics' values
// (agent/actor_critic/truncation.h)

// The number of targets of a sample.
__device__ inline int target_count(const Agent& agent) {
  return agent.critic.dropped > 0 ? 2 * (agent.critic.quantiles - agent.critic.dropped)
                                  : agent.critic.quantiles;
}

// Lane i < n has value i of each critic. Calls keep(place, z) for the `count` smallest of all 2 n,
// in ascending order from place 0. If a value is NaN, all become NaN.
template <typename Keep>
__device__ void keep_smallest(float first, float second, int n, int count, const Keep& keep) {
  constexpr unsigned kAll = 0xffffffffu;
  const int lane = threadIdx.x % 32;
  const bool bad = __any_sync(kAll, lane < n && (first != first || second != second));
  int of_first = 0, of_second = 0;  // ranks; equal values in the order of their numbers
  for (int i = 0; i < n; ++i) {
    const float a = __shfl_sync(kAll, first, i), b = __shfl_sync(kAll, second, i);
    of_first += (a < first || (a == first && i < lane)) + (b < first);
    of_second += (a <= second) + (b < second || (b == second && i < lane));
  }
  if (lane >= n) return;
  if (bad) {
    for (int place = lane; place < count; place += n) keep(place, nanf(""));
    return;
  }
  if (of_first < count) keep(of_first, first);
  if (of_second < count) keep(of_second, second);
}

// Writes the targets of sample s (Eq. 4 with truncation); by a warp.
__device__ inline void truncated_targets(const Agent& agent, int s, float alpha, float* out) {
  const int n = agent.critic.quantiles, at = s * n + min(static_cast<int>(threadIdx.x % 32), n - 1);
  const float reward = __ldg(agent.reward + s), continues = __ldg(agent.continues + s),
              entropy = alpha * __ldg(agent.next_log_probability + s);
  keep_smallest(__ldg(agent.next_quantiles[0] + at), __ldg(agent.next_quantiles[1] + at), n,
                target_count(agent), [&](int place, float z) {
                  out[place] = td_target(reward, continues, z, z, entropy);
                });
}

// ---- the loss

// From z in the results to the gradient of the loss, summed over the batch, in x, zero up to column
// 32; and the loss of each row. A warp has whole rows.
template <bool kExact, int kSize>
__device__ void critic_loss(NetworkTile<kExact, kSize>& tile, const Agent& agent, int k,
                            int first_sample, float alpha) {
  constexpr int kTargets = kMostOutputs;  // first column of the targets in the results
  constexpr int kEach = Tile<kSize>::kEach;
  const int n = agent.critic.quantiles, batch = agent.train.batch, targets = target_count(agent),
            first_row = first_row_of_warp<Tile<kSize>>();
  const float *first = agent.next_quantiles[0], *second = agent.next_quantiles[1];
  const Blend blend = agent.blend;
  const float *rewards = agent.reward, *all_continue = agent.continues,
              *entropy = agent.next_log_probability;

  // the targets (Eq. 4)
  if (agent.critic.dropped > 0) {
#pragma unroll 1
    for (int row = first_row; row < first_row + kEach; ++row)
      truncated_targets(agent, first_sample + row, alpha, &tile.result(row, kTargets));
  } else {
    for_each_number<kSize>(n, [&](int row, int i, int) {
      const int s = first_sample + row, at = s * n + i;
      tile.result(row, kTargets + i) =
          td_target(__ldg(rewards + s), __ldg(all_continue + s), __ldg(first + at),
                    __ldg(second + at), alpha * __ldg(entropy + s), blend);
    });
  }
  __syncwarp();

  float z[kEach] = {}, above[kEach] = {}, slope[kEach] = {}, loss[kEach] = {};
  const float* target[kEach];
#pragma unroll
  for (int turn = 0; turn < kEach; ++turn) target[turn] = &tile.result(first_row, kTargets);
  for_each_number<kSize>(n, [&](int row, int i, int turn) {
    z[turn] = tile.result(row, i);
    above[turn] = (i + 0.5f) / n;
    target[turn] = &tile.result(row, kTargets);
  });
  // quantile Huber loss (Eq. 2), or squared loss where there is one value
  if (agent.distributional) {
    const int turns = (kEach * n + 31) / 32;
    const auto add = [&](int turn, float y) {
      const auto term = quantile_huber(y - z[turn], above[turn], 1 - above[turn], 1.0f);
      slope[turn] -= term.slope;
      loss[turn] += term.value;
    };
    int i = 0;
#pragma unroll 1
    for (; i + 4 <= targets; i += 4) {
#pragma unroll
      for (int turn = 0; turn < kEach; ++turn) {
        if (turn >= turns) break;
        const float4 y = *reinterpret_cast<const float4*>(target[turn] + i);
        add(turn, y.x);
        add(turn, y.y);
        add(turn, y.z);
        add(turn, y.w);
      }
    }
#pragma unroll 1
    for (; i < targets; ++i) {
#pragma unroll
      for (int turn = 0; turn < kEach; ++turn) {
        if (turn < turns) add(turn, target[turn][i]);
      }
    }
  } else {  // one number in each row
    const float error = z[0] - *target[0];
    slope[0] = 2 * error;
    loss[0] = error * error;
  }
  __syncwarp();  // quantiles and targets have been read

  const int stride = stride_of_deltas(n);
  const float share = 1.0f / targets;
  auto* delta = numbers<kExact>(agent.critic_trace[k].delta[agent.critic_shape.layers - 1]);
  for_each_row<kSize>([&](int row, int i) {  // beyond the quantiles
    if (i < n) return;
    tile.put(row, i, 0.0f);
    if (i < stride) store(delta[(first_sample + row) * stride + i], 0.0f);
  });
  for_each_number<kSize>(n, [&](int row, int i, int turn) {
    const int s = first_sample + row;
    const float gradient = s < batch ? slope[turn] * share : 0.0f;
    tile.put(row, i, gradient);
    store(delta[s * stride + i], gradient);
    tile.result(row, kTargets + i) = s < batch ? loss[turn] * share : 0.0f;
  });
  __syncwarp();
  float* losses = agent.critic_loss[k];
  sum_each_row<kSize>(
      n, [&](int row, int i) { return tile.result(row, kTargets + i); },
      [&](int row, float sum) { losses[first_sample + row] = sum * (1.0f / batch); });
}

// blockIdx: (tile of samples, critic, agent)
template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    loss_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const int k = blockIdx.y, first_sample = blockIdx.x * Tile<kSize>::kRows;
  if (agent.iqn || first_sample >= agent.train.batch) return;
  auto& tile = shared_as<NetworkTile<kExact, kSize>>();
  const PassParameters net = online(agent.critic_net[k], agent.critic_half[k]);
  const NetworkShape& shape = agent.critic_shape;
  begin_forward(tile, net, shape);
  const float alpha = next_temperature(tile, agent, blockIdx.x == 0 && k == 0);

  fill_rows(tile, agent.state_action, agent.state_action_stride, agent.state_action_stride,
            first_sample);
  const Trace& trace = agent.critic_trace[k];
  with_norm(shape, [&](auto norm) {
    forward<norm>(tile, net, shape, first_sample, trace.hidden, &agent.norm_trace[k]);
    begin_backward(tile, net, shape);
    critic_loss<kExact, kSize>(tile, agent, k, first_sample, alpha);
    backward<norm>(tile, net, shape, first_sample, trace.delta, &agent.norm_trace[k]);
  });
}

// Q_k(s, a) = mean_i z_ki at the actor's new actions (Eq. 6, before the minimum), and its gradient
// by the action. Where the smaller critic is chosen quantile by quantile, a launch with kValues
// first computes both critics' values. blockIdx: (tile of samples, critic, agent)
template <bool kExact, int kSize, bool kValues>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    new_actions_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const bool by_quantile = agent.is_by_quantile();
  const Blend blend = agent.blend;
  const int k = blockIdx.y, first_sample = blockIdx.x * Tile<kSize>::kRows;
  if (agent.iqn || first_sample >= agent.train.batch || (kValues && !by_quantile)) return;
  auto& tile = shared_as<NetworkTile<kExact, kSize>>();
  const int n = agent.critic.quantiles;
  const PassParameters net = online(agent.critic_net[k], agent.critic_half[k]);
  const NetworkShape& shape = agent.critic_shape;
  begin_forward(tile, net, shape);
  fill_new_actions(tile, agent, first_sample);
  float *quantiles = agent.quantiles_at_new[k] + first_sample * n,
        *values = agent.value[k] + first_sample;
  const float *first = agent.quantiles_at_new[0] + first_sample * n,
              *second = agent.quantiles_at_new[1] + first_sample * n;
  with_norm(shape, [&](auto norm) {
    forward<norm>(tile, net, shape, first_sample, nullptr, &agent.norm_trace[k]);
    if (kValues) return keep_quantiles<kSize>(tile, n, quantiles);
    begin_backward(tile, net, shape);

    if (!by_quantile) keep_quantiles<kSize>(tile, n, quantiles);
    sum_each_row<kSize>(
        n,
        [&](int r, int i) {
          return by_quantile ? blended(blend, first[r * n + i], second[r * n + i])
                             : tile.result(r, i);
        },
        [&](int r, float sum) { values[r] = sum / n; });
    __syncwarp();
    const float share = 1.0f / n;
    for_each_row<kSize>([&](int r, int i) {
      float part = i < n ? share : 0.0f;
      if (by_quantile && i < n) {
        const bool is_smaller = (first[r * n + i] <= second[r * n + i]) == (k == 0);
        part *= is_smaller ? blend.smaller : blend.larger;
      }
      tile.put(r, i, part);
    });
    backward<norm>(tile, net, shape, first_sample, nullptr, &agent.norm_trace[k]);
  });
  if (kValues) return;

  write_action_gradient<kSize>(tile, agent, k, shape.layer[0], first_sample);
}

}  // namespace

void differentiate_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  if (plan.fixed_agents > 0) OVDE_LAUNCH_TILED(loss_kernel, plan, 2, agents, stream);
  differentiate_iqn_critics(plan, agents, stream);
}

void evaluate_new_actions(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  if (plan.fixed_agents > 0 && plan.by_quantile)
    OVDE_LAUNCH_TILED(new_actions_kernel, plan, 2, agents, stream, true);
  if (plan.fixed_agents > 0) OVDE_LAUNCH_TILED(new_actions_kernel, plan, 2, agents, stream, false);
  evaluate_iqn_new_actions(plan, agents, stream);
}

}  // namespace ovde::cuda
