// The critics that take fractions as inputs: the targets' values, the loss with its gradient, and
// the values at the policy's actions. A block has the features of many samples or all fractions of
// a few: one kernel computes the features, the next one the fractions, a third one the features'
// gradient.
#include "cuda/kernels/batch.cuh"
#include "cuda/kernels/counters.cuh"
#include "cuda/kernels/update.cuh"
#include "cuda/tile/iqn_network.cuh"

namespace ovde::cuda {

namespace {

// The rows of this block, for so many fractions of each sample. A count below 1 means none.
template <int kSize>
__device__ IqnRows block_rows(const Agent& agent, int fractions) {
  const int samples = IqnRows::samples<kSize>(fractions), first = blockIdx.x * samples;
  return {fractions, first, min(samples, agent.train.batch - first), static_cast<int>(blockIdx.x)};
}

// ---- features

// Draws the fractions of this update for a tile of samples, and their weights where they are used.
template <bool kExact, int kSize>
__device__ void write_fractions(IqnTile<kExact, kSize>& tile, const Agent& agent,
                                const IqnRows& samples, FractionsFor purpose) {
  const int n = agent.critic.quantiles, first = samples.first * n;
  float *to = agent.fractions[static_cast<int>(purpose)],
        *weights = purpose == FractionsFor::target   ? agent.next_weights
                   : purpose == FractionsFor::policy ? agent.weights_at_new
                                                     : nullptr;
  draw_fractions(
      reinterpret_cast<float*>(&tile.x[0][0]), samples.count * n, n,
      [&](int r) {
        if (agent.critic.head != CriticHead::iqn) return kEqualWidths;
        return fraction_number(agent.seed, agent.progress->updates, purpose, agent.train.batch, n,
                               r % n, samples.first + r / n);
      },
      [&](int r, float fraction, float weight) {
        to[first + r] = fraction;
        if (weights != nullptr) weights[first + r] = weight;
      });
}

// Calls work(tile, pass, samples, k) for the features of this block's samples: of critic
// blockIdx.y % 2, or `next`: of its target network.
template <bool kExact, int kSize, typename Work>
__device__ void with_features(const Agent& agent, bool next, Work&& work) {
  if (!agent.iqn) return;
  const IqnRows rows = block_rows<kSize>(agent, 1);
  if (rows.count <= 0) return;
  auto& tile = shared_as<IqnTile<kExact, kSize>>();
  const int k = blockIdx.y % 2;
  const Network& net = agent.critic_net[k];
  const HalfCopies& copies = agent.critic_half[k];
  FeaturePass<kExact, kSize> pass(tile, next ? target(net, copies) : online(net, copies),
                                  agent.critic_shape, agent.iqn_trace[k], rows);
  work(tile, pass, rows, k);
}

// The features of both critics at the batch and of their target networks at s'; the temperature's
// step; and all fractions of the update. blockIdx: (tile of samples; critic, 2 + critic for its
// target network, or 4 + FractionsFor; agent)
constexpr int kFeatureParts = 4 + 3;
template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    features_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const bool next = blockIdx.y >= 2;
  with_features<kExact, kSize>(agent, next, [&](auto& tile, auto& pass, const auto& rows, int k) {
    if (blockIdx.y >= 4)
      return write_fractions(tile, agent, rows, static_cast<FractionsFor>(blockIdx.y - 4));
    const int stride = agent.state_action_stride;
    pass.begin();
    if (blockIdx.x == 0 && blockIdx.y == 0) next_temperature(tile, agent, true);
    fill_rows(tile, next ? agent.next_state_action : agent.state_action, stride, stride,
              rows.first);
    pass.forward(next ? agent.next_features[k] : last_features(agent, k), !next);
  });
}

// The features of both critics at the actor's new actions. blockIdx, here and below: (tile of
// samples, critic, agent)
template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    new_features_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  with_features<kExact, kSize>(agent, false, [&](auto& tile, auto& pass, const auto& rows, int k) {
    pass.begin();
    fill_new_actions(tile, agent, rows.first);
    pass.forward(last_features(agent, k), true);
  });
}

// From the gradient of the features to that of their first layer, for the parameters' steps, or to
// the gradient by the actions.
template <bool kExact, int kSize, Way kWay>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    features_gradient_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  with_features<kExact, kSize>(agent, false, [&](auto& tile, auto& pass, const auto& rows, int k) {
    pass.begin_backward();
    pass.template backward<kWay>();
    if constexpr (kWay == Way::to_inputs)
      write_action_gradient<kSize>(tile, agent, k, agent.critic_shape.layer[0], rows.first);
  });
}

// ---- fractions

// Calls work(tile, pass, rows, k, out) for all fractions of this block's samples, of critic k:
// for `target` that of its target network.
template <bool kExact, int kSize, FractionsFor kPurpose, typename Work>
__device__ void with_fractions(const Agent& agent, Work&& work) {
  constexpr bool kNext = kPurpose == FractionsFor::target;
  if (!agent.iqn) return;
  const IqnRows rows = block_rows<kSize>(agent, agent.critic.quantiles);
  if (rows.count <= 0) return;
  auto& tile = shared_as<IqnTile<kExact, kSize>>();
  const int k = blockIdx.y;
  const Network& net = agent.critic_net[k];
  const HalfCopies& copies = agent.critic_half[k];
  FractionPass<kExact, kSize> pass(tile, kNext ? target(net, copies) : online(net, copies),
                                   agent.critic_shape, agent.iqn_trace[k], rows,
                                   kNext ? agent.next_features[k] : last_features(agent, k));
  pass.begin();
  const float* fractions = agent.fractions[static_cast<int>(kPurpose)];
  set_rows(tile, rows, [&](int r) { return __ldg(fractions + rows.row(r)); });
  typename FractionPass<kExact, kSize>::Product out;
  work(tile, pass, rows, k, out);
}

template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    targets_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  with_fractions<kExact, kSize, FractionsFor::target>(
      agent, [&](auto& tile, auto& pass, const auto& rows, int k, auto& out) {
        pass.template forward<Way::none>(out, nullptr);
        if (const int r = threadIdx.x; rows.has(r))
          agent.next_quantiles[k][rows.row(r)] = tile.value[r];
      });
}

// The gradient of the quantile Huber loss (agent/critic/loss.h), summed over the batch, by
// each value in tile.slope; and the sums of each sample. Four threads share a row, each with every
// fourth target.
template <bool kExact, int kSize>
__device__ void critic_loss(IqnTile<kExact, kSize>& tile, const Agent& agent, const IqnRows& rows,
                            int k) {
  static_assert(Tile<kSize>::kThreads == 4 * Tile<kSize>::kRows);
  float *targets = &tile.part[0][0][0], *weights = &tile.part[1][0][0];  // unused here otherwise
  if (const int r = threadIdx.x; rows.has(r)) {
    const int s = tile.sample[r], at = rows.row(r);
    targets[r] = td_target(agent.reward[s], agent.continues[s], agent.next_quantiles[0][at],
                           agent.next_quantiles[1][at],
                           agent.progress->alpha * agent.next_log_probability[s], agent.blend);
    weights[r] = agent.next_weights[at];
  }
  __syncthreads();
  const int r = threadIdx.x / 4, n = rows.fractions;
  float slope = 0, loss = 0;
  if (rows.has(r)) {
    const float z = tile.value[r], above = tile.tau[r], below = 1 - above;
    const int first = r / n * n;
    for (int i = first + threadIdx.x % 4; i < first + n; i += 4) {
      const auto term = quantile_huber(targets[i] - z, above, below, weights[i]);
      slope -= term.slope;
      loss += term.value;
    }
  }
#pragma unroll
  for (int offset = 1; offset < 4; offset *= 2) {
    slope += __shfl_xor_sync(~0u, slope, offset);
    loss += __shfl_xor_sync(~0u, loss, offset);
  }
  __syncthreads();  // every value has been read
  if (threadIdx.x % 4 == 0) {
    tile.slope[r] = slope * (1.0f / n);
    tile.value[r] = loss * (1.0f / n);
  }
  __syncthreads();
  if (const int s = threadIdx.x; s < rows.count) {
    loss = slope = 0;
    for (int i = s * n; i < (s + 1) * n; ++i) {
      loss += tile.value[i];
      slope += tile.slope[i];
    }
    agent.critic_loss[k][rows.first + s] = loss * (1.0f / agent.train.batch);
    agent.iqn_trace[k].by_value[rows.first + s] = slope;
  }
}

template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    iqn_loss_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  with_fractions<kExact, kSize, FractionsFor::prediction>(
      agent, [&](auto& tile, auto& pass, const auto& rows, int k, auto& out) {
        pass.template forward<Way::to_parameters>(out, k == 0 ? agent.cosines : nullptr);
        critic_loss(tile, agent, rows, k);
        pass.template backward<Way::to_parameters>(out);
      });
}

// From the values at the actor's new actions to their mean, and its gradient by each in tile.slope.
template <bool kExact, int kSize>
__device__ void new_values(IqnTile<kExact, kSize>& tile, const Agent& agent, const IqnRows& rows,
                           int k) {
  const bool by_quantile = agent.is_by_quantile();
  const int n = rows.fractions, r = threadIdx.x;
  float counts = rows.has(r) ? 1.0f : 0.0f;
  if (rows.has(r) && by_quantile) {
    const float first = agent.quantiles_at_new[0][rows.row(r)],
                second = agent.quantiles_at_new[1][rows.row(r)];
    counts = (first <= second) == (k == 0) ? agent.blend.smaller : agent.blend.larger;
    tile.value[r] = blended(agent.blend, first, second);
  }
  const float share = 1.0f / n;
  if (r < Tile<kSize>::kRows) {
    const float weight = !rows.has(r)                ? 0
                         : agent.has_equal_weights() ? share
                                                     : agent.weights_at_new[rows.row(r)] * share;
    tile.weight[r] = weight;
    tile.slope[r] = counts * weight;
  }
  __syncthreads();
  if (r < rows.count) {
    float mean = 0;
    for (int i = r * n; i < (r + 1) * n; ++i) mean += tile.weight[i] * tile.value[i];
    agent.value[k][rows.first + r] = mean;
  }
}

// Q_k(s, a) = sum_i w_i z_ki at the actor's new actions, and its gradient by the features. Where
// the smaller critic is chosen quantile by quantile, a launch with kValues first computes both
// critics' values.
template <bool kExact, int kSize, bool kValues>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    iqn_new_actions_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const bool by_quantile = agent.is_by_quantile();
  if (kValues && !by_quantile) return;
  with_fractions<kExact, kSize, FractionsFor::policy>(
      agent, [&](auto& tile, auto& pass, const auto& rows, int k, auto& out) {
        pass.template forward<kValues ? Way::none : Way::to_inputs>(out, nullptr);
        if (const int r = threadIdx.x; rows.has(r) && kValues == by_quantile)
          agent.quantiles_at_new[k][rows.row(r)] = tile.value[r];
        if (kValues) return;
        new_values(tile, agent, rows, k);
        pass.template backward<Way::to_inputs>(out);
      });
}

// As OVDE_LAUNCH_TILED, always with 64 rows in a tile, for samples with so many fractions.
#define OVDE_LAUNCH_IQN(kernel, plan, fractions, parts, agents, stream, ...)                    \
  with_exact((plan).exact, [&]<bool kExact>() {                                                 \
    launch_tiles<IqnTile<kExact, 2>>(kernel<kExact, 2 __VA_OPT__(, ) __VA_ARGS__>, plan, parts, \
                                     agents, stream, IqnRows::samples<2>(fractions));           \
  })

}  // namespace

void evaluate_iqn_targets(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  if (plan.random_agents == 0) return;
  OVDE_LAUNCH_IQN(features_kernel, plan, 1, kFeatureParts, agents, stream);
  OVDE_LAUNCH_IQN(targets_kernel, plan, plan.fractions, 2, agents, stream);
}

void differentiate_iqn_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  if (plan.random_agents == 0) return;
  OVDE_LAUNCH_IQN(iqn_loss_kernel, plan, plan.fractions, 2, agents, stream);
  OVDE_LAUNCH_IQN(features_gradient_kernel, plan, 1, 2, agents, stream, Way::to_parameters);
}

void evaluate_iqn_new_actions(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  if (plan.random_agents == 0) return;
  OVDE_LAUNCH_IQN(new_features_kernel, plan, 1, 2, agents, stream);
  if (plan.by_quantile)
    OVDE_LAUNCH_IQN(iqn_new_actions_kernel, plan, plan.fractions, 2, agents, stream, true);
  OVDE_LAUNCH_IQN(iqn_new_actions_kernel, plan, plan.fractions, 2, agents, stream, false);
  OVDE_LAUNCH_IQN(features_gradient_kernel, plan, 1, 2, agents, stream, Way::to_inputs);
}

}  // namespace ovde::cuda
