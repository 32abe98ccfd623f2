// The critics with random fractions: the targets' values, the loss with its gradient, and the
// values at new actions. A block has the features of many samples, or all fractions of a few: the
// features come from a kernel before those of the fractions, and their gradient goes to one after.
#include "cuda/critics.cuh"
#include "cuda/iqn.cuh"
#include "cuda/kernels.cuh"
#include "cuda/philox.cuh"

namespace ovde::cuda {

namespace {

// The rows of this block: as many samples as fit with so many fractions each, none where `count` is
// not positive.
template <int kSize>
__device__ IqnRows block_rows(const Agent& agent, int fractions) {
  const int samples = IqnRows::samples<kSize>(fractions), first = blockIdx.x * samples;
  return {fractions, first, min(samples, agent.batch - first), static_cast<int>(blockIdx.x)};
}

template <bool kExact, int kSize>
__device__ void set_rows(IqnTile<kExact, kSize>& tile, const Agent& agent, const IqnRows& rows,
                         FractionsFor purpose) {
  const float* fractions = agent.fractions[static_cast<int>(purpose)];
  set_rows(tile, rows, [&](int r) { return __ldg(fractions + rows.row(r)); });
}

// ---- features

// The fractions of this update for a tile of samples, and what they count where it matters.
template <bool kExact, int kSize>
__device__ void write_fractions(IqnTile<kExact, kSize>& tile, const Agent& agent,
                                const IqnRows& samples, FractionsFor purpose) {
  const int n = agent.quantiles, first = samples.first * n;
  float *to = agent.fractions[static_cast<int>(purpose)],
        *weights = purpose == FractionsFor::target   ? agent.next_weights
                   : purpose == FractionsFor::policy ? agent.weights_at_new
                                                     : nullptr;
  draw_fractions(
      reinterpret_cast<float*>(&tile.x[0][0]), samples.count * n, n,
      [&](int r) {
        if (!agent.random_fractions) return kEqualWidths;
        return fraction_number(agent.seed, agent.progress->updates, purpose, agent.batch, n, r % n,
                               samples.first + r / n);
      },
      [&](int r, float fraction, float weight) {
        to[first + r] = fraction;
        if (weights != nullptr) weights[first + r] = weight;
      });
}

// Of both critics at the batch, and of their target networks at s'; the temperature's step; and all
// fractions of the update. blockIdx: (tile of samples; critic, 2 + critic: its target network, or 4
// + what the fractions are for; agent)
constexpr int kFeatureParts = 4 + 3;
template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    features_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  if (!agent.iqn) return;
  const IqnRows rows = block_rows<kSize>(agent, 1);
  if (rows.count <= 0) return;
  auto& tile = shared_as<IqnTile<kExact, kSize>>();
  if (blockIdx.y >= 4)
    return write_fractions(tile, agent, rows, static_cast<FractionsFor>(blockIdx.y - 4));
  const int k = blockIdx.y % 2, stride = agent.state_action_stride;
  const bool next = blockIdx.y >= 2;
  const Network& net = agent.critic[k];
  const HalfCopies& copies = agent.critic_half[k];
  FeaturePass<kExact, kSize> pass(tile, next ? target(net, copies) : online(net, copies),
                                  agent.iqn_shape, agent.iqn_trace[k], rows);
  pass.begin();
  if (blockIdx.x == 0 && blockIdx.y == 0) next_temperature(tile, agent, true);
  const float* input = (next ? agent.next_state_action : agent.state_action) + rows.first * stride;
  fill(tile, multiple_of_32(stride),
       [=](int r, int i) { return i < stride ? __ldg(input + r * stride + i) : 0.0f; });
  pass.forward(next ? agent.next_features[k] : last_features(agent, k), !next);
}

// Of both critics at the actor's new actions. blockIdx, here and below: (tile of samples, critic,
// agent)
template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    new_features_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  if (!agent.iqn) return;
  const IqnRows rows = block_rows<kSize>(agent, 1);
  if (rows.count <= 0) return;
  auto& tile = shared_as<IqnTile<kExact, kSize>>();
  const int k = blockIdx.y, stride = agent.state_action_stride, observations = agent.observations,
            actions = agent.actions;
  FeaturePass<kExact, kSize> pass(tile, online(agent.critic[k], agent.critic_half[k]),
                                  agent.iqn_shape, agent.iqn_trace[k], rows);
  pass.begin();
  const float *state_action = agent.state_action + rows.first * stride,
              *action = agent.action + rows.first * actions;
  fill(tile, multiple_of_32(stride), [=](int r, int i) {
    return i < observations             ? __ldg(state_action + r * stride + i)
           : i < observations + actions ? __ldg(action + r * actions + i - observations)
                                        : 0.0f;
  });
  pass.forward(last_features(agent, k), true);
}

// From the gradient of the features to that of their first layer: what the steps of the parameters
// need, or the gradient by the actions.
template <bool kExact, int kSize, Way kWay>
__device__ void back_through_features(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  if (!agent.iqn) return;
  const IqnRows rows = block_rows<kSize>(agent, 1);
  if (rows.count <= 0) return;
  auto& tile = shared_as<IqnTile<kExact, kSize>>();
  const int k = blockIdx.y, actions = agent.actions;
  FeaturePass<kExact, kSize> pass(tile, online(agent.critic[k], agent.critic_half[k]),
                                  agent.iqn_shape, agent.iqn_trace[k], rows);
  pass.begin_backward();
  pass.template backward<kWay>();
  if constexpr (kWay == Way::to_inputs) {
    to_actions(tile, agent.critic[k].parameters, agent.iqn_shape.layer[0], agent.observations,
               actions);
    float* gradient = agent.action_gradient[k] + rows.first * actions;
    for_each_row<kSize>([&](int r, int d) {
      if (d < actions) gradient[r * actions + d] = tile.result(r, d);
    });
  }
}

template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    features_gradient_kernel(const Agent* agents) {
  back_through_features<kExact, kSize, Way::to_parameters>(agents);
}

template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    action_gradient_kernel(const Agent* agents) {
  back_through_features<kExact, kSize, Way::to_inputs>(agents);
}

// ---- fractions

template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    targets_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  if (!agent.iqn) return;
  const IqnRows rows = block_rows<kSize>(agent, agent.quantiles);
  if (rows.count <= 0) return;
  auto& tile = shared_as<IqnTile<kExact, kSize>>();
  const int k = blockIdx.y;
  FractionPass<kExact, kSize> pass(tile, target(agent.critic[k], agent.critic_half[k]),
                                   agent.iqn_shape, agent.iqn_trace[k], rows,
                                   agent.next_features[k]);
  pass.begin();
  set_rows(tile, agent, rows, FractionsFor::target);
  typename FractionPass<kExact, kSize>::Product out;
  pass.template forward<Way::none>(out, nullptr);
  if (const int r = threadIdx.x; rows.has(r)) agent.next_quantiles[k][rows.row(r)] = tile.value[r];
}

// From the values to the gradient of the quantile Huber loss (agent/critic/quantile_loss.h), summed
// over the batch, by each of them in tile.slope; and the sums of each sample. Four threads to a
// row, each with every fourth target.
template <bool kExact, int kSize>
__device__ void critic_loss(IqnTile<kExact, kSize>& tile, const Agent& agent, const IqnRows& rows,
                            int k) {
  static_assert(Tile<kSize>::kThreads == 4 * Tile<kSize>::kRows);
  float *targets = &tile.part[0][0][0], *weights = &tile.part[1][0][0];  // not in use
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
    agent.critic_loss[k][rows.first + s] = loss * (1.0f / agent.batch);
    agent.iqn_trace[k].by_value[rows.first + s] = slope;
  }
}

template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    loss_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  if (!agent.iqn) return;
  const IqnRows rows = block_rows<kSize>(agent, agent.quantiles);
  if (rows.count <= 0) return;
  auto& tile = shared_as<IqnTile<kExact, kSize>>();
  const int k = blockIdx.y;
  FractionPass<kExact, kSize> pass(tile, online(agent.critic[k], agent.critic_half[k]),
                                   agent.iqn_shape, agent.iqn_trace[k], rows,
                                   last_features(agent, k));
  pass.begin();
  set_rows(tile, agent, rows, FractionsFor::prediction);
  typename FractionPass<kExact, kSize>::Product out;
  pass.template forward<Way::to_parameters>(out, k == 0 ? agent.cosines : nullptr);
  critic_loss(tile, agent, rows, k);
  pass.template backward<Way::to_parameters>(out);
}

// Q_k(s, a) = sum_i w_i z_ki at the actor's new actions, and its gradient with respect to the
// features. Where the smaller critic is chosen quantile by quantile, both critics' values come
// first, by a kernel of their own.
template <bool kExact, int kSize, bool kValues>
__device__ void evaluate_at_new_actions(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const bool by_quantile = agent.smaller_by_quantile;
  if (!agent.iqn || (kValues && !by_quantile)) return;
  const IqnRows rows = block_rows<kSize>(agent, agent.quantiles);
  if (rows.count <= 0) return;
  auto& tile = shared_as<IqnTile<kExact, kSize>>();
  const int k = blockIdx.y, n = rows.fractions, r = threadIdx.x;
  FractionPass<kExact, kSize> pass(tile, online(agent.critic[k], agent.critic_half[k]),
                                   agent.iqn_shape, agent.iqn_trace[k], rows,
                                   last_features(agent, k));
  pass.begin();
  set_rows(tile, agent, rows, FractionsFor::policy);
  typename FractionPass<kExact, kSize>::Product out;
  pass.template forward<kValues ? Way::none : Way::to_inputs>(out, nullptr);
  if (rows.has(r) && kValues == by_quantile) agent.quantiles_at_new[k][rows.row(r)] = tile.value[r];
  if (kValues) return;
  float counts = rows.has(r) ? 1.0f : 0.0f;
  if (rows.has(r) && by_quantile) {
    const float first = agent.quantiles_at_new[0][rows.row(r)],
                second = agent.quantiles_at_new[1][rows.row(r)];
    counts = (first <= second) == (k == 0) ? agent.blend.smaller : agent.blend.larger;
    tile.value[r] = blended(agent.blend, first, second);
  }
  const float share = 1.0f / n;
  if (r < Tile<kSize>::kRows) {
    const float weight = !rows.has(r)          ? 0
                         : agent.equal_weights ? share
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
  pass.template backward<Way::to_inputs>(out);
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

// The instance of a plan, all with 64 rows to a tile: OVDE_LAUNCH_IQN(kernel, plan, fractions,
// parts, ...) launches it with blocks (tiles of samples with so many fractions, parts, agents).
#define OVDE_LAUNCH_IQN(kernel, plan, fractions, parts, agents, stream)              \
  do {                                                                               \
    const auto launch_size = [&]<bool kExact, int kSize>() {                         \
      const int samples = IqnRows::samples<kSize>(fractions);                        \
      launch(kernel<kExact, kSize>,                                                  \
             dim3(((plan).batch + samples - 1) / samples, (parts), (plan).agents),   \
             Tile<kSize>::kThreads, sizeof(IqnTile<kExact, kSize>), agents, stream); \
    };                                                                               \
    if ((plan).exact) {                                                              \
      launch_size.template operator()<true, 2>();                                    \
    } else {                                                                         \
      launch_size.template operator()<false, 2>();                                   \
    }                                                                                \
  } while (false)

}  // namespace

void evaluate_iqn_targets(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  OVDE_LAUNCH_IQN(features_kernel, plan, 1, kFeatureParts, agents, stream);
  OVDE_LAUNCH_IQN(targets_kernel, plan, plan.fractions, 2, agents, stream);
}

void differentiate_iqn_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  OVDE_LAUNCH_IQN(loss_kernel, plan, plan.fractions, 2, agents, stream);
  OVDE_LAUNCH_IQN(features_gradient_kernel, plan, 1, 2, agents, stream);
}

void evaluate_iqn_new_actions(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  OVDE_LAUNCH_IQN(new_features_kernel, plan, 1, 2, agents, stream);
  if (plan.by_quantile) OVDE_LAUNCH_IQN(values_kernel, plan, plan.fractions, 2, agents, stream);
  OVDE_LAUNCH_IQN(new_actions_kernel, plan, plan.fractions, 2, agents, stream);
  OVDE_LAUNCH_IQN(action_gradient_kernel, plan, 1, 2, agents, stream);
}

}  // namespace ovde::cuda
