// The critics with random fractions: the targets' values, the loss with its gradient, and the
// values at new actions.
#include "cuda/critics.cuh"
#include "cuda/iqn.cuh"
#include "cuda/kernels.cuh"
#include "cuda/philox.cuh"

namespace ovde::cuda {

namespace {

// The rows of this block: as many samples as fit, none where `count` is not positive.
template <int kSize>
__device__ IqnRows block_rows(const Agent& agent) {
  const int samples = IqnRows::samples<kSize>(agent.quantiles), first = blockIdx.x * samples;
  return {agent.quantiles, first, min(samples, agent.batch - first), static_cast<int>(blockIdx.x)};
}

// begin_rows() with the fractions of this update.
template <bool kExact, int kSize, typename Value>
__device__ void begin_rows(IqnTile<kExact, kSize>& tile, const Agent& agent, const IqnRows& rows,
                           FractionsFor purpose, Value&& value) {
  const auto number = [&](int r) {
    if (!agent.random_fractions) return kEqualWidths;
    return fraction_number(agent.seed, agent.progress->updates, purpose, agent.batch,
                           rows.fractions, r % rows.fractions, rows.sample(r));
  };
  begin_rows(tile, rows, agent.state_action_stride, number, value);
}

// blockIdx, here and below: (tile of samples, critic, agent)
template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    targets_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  if (!agent.iqn) return;
  const IqnRows rows = block_rows<kSize>(agent);
  if (rows.count <= 0) return;
  auto& tile = shared_as<IqnTile<kExact, kSize>>();
  const int k = blockIdx.y, stride = agent.state_action_stride;
  IqnPass<kExact, kSize> pass(tile, target(agent.critic[k], agent.critic_half[k]), agent.iqn_shape,
                              agent.iqn_trace[k], rows);
  pass.begin();
  if (blockIdx.x == 0 && k == 0) next_temperature(tile, agent, true);
  const float* input = agent.next_state_action;
  begin_rows(tile, agent, rows, FractionsFor::target,
             [=](int s, int i) { return __ldg(input + s * stride + i); });
  typename IqnPass<kExact, kSize>::Product out;
  pass.template forward<Way::none>(out, nullptr);
  if (const int r = threadIdx.x; rows.has(r)) {
    agent.next_quantiles[k][rows.row(r)] = tile.value[r];
    if (k == 0) agent.next_weights[rows.row(r)] = tile.weight[r];
  }
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
    const int s = tile.sample[r], at = tile.row[r];
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

// The weights of the first layer at the actions on their way into the memory of the weights, which
// nobody may be using.
template <int kSize>
__device__ void fetch_action_weights(HalfTile<kSize>& tile, const Agent& agent,
                                     const float* parameters) {
  const LayerShape& layer = agent.iqn_shape.layer[0];
  if (const int o = threadIdx.x; o < layer.outputs) {
    const float* from = parameters + layer.weights + o * layer.stride + agent.observations;
    float* to = reinterpret_cast<float*>(tile.weights) + o;
    for (int d = 0; d < agent.actions; ++d) copy_one_async(to + d * kMostWidth, from + d);
  }
  commit_copies();
}

// The gradient by the actions from that of the first layer's sums in x, with these weights.
template <bool kExact, int kSize>
__device__ void write_action_gradient(IqnTile<kExact, kSize>& tile, const Agent& agent,
                                      const IqnRows& rows, int k) {
  const int actions = agent.actions;
  const LayerShape& layer = agent.iqn_shape.layer[0];
  float* gradient = agent.action_gradient[k];
  if constexpr (kExact) {
    to_actions(tile, agent.critic[k].parameters, layer, agent.observations, actions);
    for_each_row<kSize>([&](int row, int d) {
      if (row < rows.count && d < actions)
        gradient[(rows.first + row) * actions + d] = tile.x[row][d];
    });
  } else {
    wait_for_copies<0>();
    __syncthreads();
    const float* weights = reinterpret_cast<const float*>(tile.weights);
    for (int task = threadIdx.x / 32; task < rows.count * actions; task += Tile<kSize>::kWarps) {
      const int row = task / actions, d = task % actions;
      float sum = 0;
      for (int o = threadIdx.x % 32; o < layer.outputs; o += 32)
        sum += __half2float(tile.x[row][o]) * weights[d * kMostWidth + o];
      sum = sum_of_warp(sum);
      if (threadIdx.x % 32 == 0) gradient[(rows.first + row) * actions + d] = sum;
    }
  }
}

template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    loss_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  if (!agent.iqn) return;
  const IqnRows rows = block_rows<kSize>(agent);
  if (rows.count <= 0) return;
  auto& tile = shared_as<IqnTile<kExact, kSize>>();
  const int k = blockIdx.y, stride = agent.state_action_stride;
  IqnPass<kExact, kSize> pass(tile, online(agent.critic[k], agent.critic_half[k]), agent.iqn_shape,
                              agent.iqn_trace[k], rows);
  pass.begin();
  const float* input = agent.state_action;
  begin_rows(tile, agent, rows, FractionsFor::prediction,
             [=](int s, int i) { return __ldg(input + s * stride + i); });
  typename IqnPass<kExact, kSize>::Product out;
  pass.template forward<Way::to_parameters>(out, k == 0 ? agent.cosines : nullptr);
  critic_loss(tile, agent, rows, k);
  pass.template backward<Way::to_parameters>(out, [] {});
}

// Q_k(s, a) = sum_i w_i z_ki at the actor's new actions, and its gradient with respect to the
// action. Where the smaller critic is chosen quantile by quantile, both critics' values come first,
// by a kernel of their own.
template <bool kExact, int kSize, bool kValues>
__device__ void evaluate_at_new_actions(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const bool by_quantile = agent.smaller_by_quantile;
  if (!agent.iqn || (kValues && !by_quantile)) return;
  const IqnRows rows = block_rows<kSize>(agent);
  if (rows.count <= 0) return;
  auto& tile = shared_as<IqnTile<kExact, kSize>>();
  const int k = blockIdx.y, stride = agent.state_action_stride, observations = agent.observations,
            actions = agent.actions, n = rows.fractions, r = threadIdx.x;
  IqnPass<kExact, kSize> pass(tile, online(agent.critic[k], agent.critic_half[k]), agent.iqn_shape,
                              agent.iqn_trace[k], rows);
  pass.begin();
  const float *state_action = agent.state_action, *action = agent.action;
  begin_rows(tile, agent, rows, FractionsFor::policy, [=](int s, int i) {
    return i < observations             ? __ldg(state_action + s * stride + i)
           : i < observations + actions ? __ldg(action + s * actions + i - observations)
                                        : 0.0f;
  });
  typename IqnPass<kExact, kSize>::Product out;
  pass.template forward<kValues ? Way::none : Way::to_inputs>(out, nullptr);
  if (rows.has(r) && kValues == by_quantile) {
    agent.quantiles_at_new[k][rows.row(r)] = tile.value[r];
    if (k == 0) agent.weights_at_new[rows.row(r)] = tile.weight[r];
  }
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
    const float weight = rows.has(r) ? (agent.equal_weights ? share : tile.weight[r] * share) : 0;
    tile.weight[r] = weight;
    tile.slope[r] = counts * weight;
  }
  __syncthreads();
  if (r < rows.count) {
    float mean = 0;
    for (int i = r * n; i < (r + 1) * n; ++i) mean += tile.weight[i] * tile.value[i];
    agent.value[k][rows.first + r] = mean;
  }
  pass.template backward<Way::to_inputs>(out, [&] {
    if constexpr (!kExact) fetch_action_weights(tile, agent, agent.critic[k].parameters);
  });
  write_action_gradient(tile, agent, rows, k);
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

// The instance of a plan, all with 64 rows to a tile.
#define OVDE_LAUNCH_IQN(kernel, plan, agents, stream)                                \
  do {                                                                               \
    const auto launch_size = [&]<bool kExact, int kSize>() {                         \
      const int samples = IqnRows::samples<kSize>((plan).fractions);                 \
      launch(kernel<kExact, kSize>,                                                  \
             dim3(((plan).batch + samples - 1) / samples, 2, (plan).agents),         \
             Tile<kSize>::kThreads, sizeof(IqnTile<kExact, kSize>), agents, stream); \
    };                                                                               \
    if ((plan).exact) {                                                              \
      launch_size.template operator()<true, 2>();                                    \
    } else if ((plan).iqn_size == 2) {                                               \
      launch_size.template operator()<false, 2>();                                   \
    } else {                                                                         \
      launch_size.template operator()<false, 3>();                                   \
    }                                                                                \
  } while (false)

}  // namespace

void evaluate_iqn_targets(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  OVDE_LAUNCH_IQN(targets_kernel, plan, agents, stream);
}

void differentiate_iqn_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  OVDE_LAUNCH_IQN(loss_kernel, plan, agents, stream);
}

void evaluate_iqn_new_actions(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  if (plan.by_quantile) OVDE_LAUNCH_IQN(values_kernel, plan, agents, stream);
  OVDE_LAUNCH_IQN(new_actions_kernel, plan, agents, stream);
}

}  // namespace ovde::cuda
