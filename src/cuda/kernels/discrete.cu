// Agents over a grid of actions (agent/discrete/agent.h): their update, in which the networks
// choose the next action and the target networks value it, and information-directed sampling.
// Networks always in fp32: most of the time goes into Adam on the output layer, and the best action
// depends on small differences. The rule is in double precision.
#include "cuda/kernels/batch.cuh"
#include "cuda/kernels/counters.cuh"
#include "cuda/kernels/explore/act.cuh"
#include "cuda/kernels/explore/dense_layer.cuh"
#include "cuda/kernels/update.cuh"
#include "cuda/tile/optimiser.cuh"

namespace ovde::cuda {

namespace {

// ---- the output layer (agent/discrete/grid_critic.h), one action's rows at a time, by one warp

// A hidden layer of at most kMostWidth units, or a row of weights: lane l has four numbers from 4 l
// on and four from 128 + 4 l on.
struct HiddenRow {
  HiddenRow() = default;
  __device__ HiddenRow(const float* from, int stride) {
    const int at = threadIdx.x % 32 * 4;
    part[0] = at < stride ? load_four(from + at) : float4{};
    part[1] = at + 128 < stride ? load_four(from + at + 128) : float4{};
  }
  // The dot product of whole rows, in every lane.
  __device__ float dot(const HiddenRow& other) const {
    float sum = 0;
#pragma unroll
    for (int p = 0; p < 2; ++p) sum += sum_of_four(part[p] * other.part[p]);
    return sum_of_warp(sum);
  }
  __device__ void add(float factor, const HiddenRow& other) {
#pragma unroll
    for (int p = 0; p < 2; ++p) part[p] = part[p] + factor * other.part[p];
  }
  float4 part[2] = {};
};

// The rows of one action in the output layer.
struct ActionRows {
  __device__ ActionRows(const Agent& agent, const float* parameters, int action)
      : n(agent.critic.quantiles), stride(output_layer(agent).stride) {
    const LayerShape& layer = output_layer(agent);
    weights = parameters + layer.weights + static_cast<std::size_t>(action) * n * stride;
    bias = parameters + layer.bias + static_cast<std::size_t>(action) * n;
  }
  __device__ static const LayerShape& output_layer(const Agent& agent) {
    return agent.critic_shape.layer[agent.critic_shape.layers - 1];
  }
  __device__ HiddenRow row(int i) const { return {weights + i * stride, stride}; }

  // Quantile number `lane` of the action's return, given the last hidden layer.
  __device__ float quantile(const HiddenRow& hidden) const {
    float mine = 0;
#pragma unroll 4
    for (int i = 0; i < n; ++i) {
      const float z = row(i).dot(hidden);
      if (threadIdx.x % 32 == i) mine = bias[i] + z;
    }
    return mine;
  }

  const float *weights, *bias;
  int n, stride;
};

// ---- the update

constexpr int kGridWarps = 8;  // each has an action or a sample

// The mean of each action's rows of the output layer. blockIdx: (kGridWarps actions, critic, agent)
__global__ void __launch_bounds__(32 * kGridWarps) grid_means_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const int k = blockIdx.y, a = blockIdx.x * kGridWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (a >= agent.choices) return;
  const ActionRows rows(agent, agent.critic_net[k].parameters, a);
  const float share = 1.0f / rows.n;
  HiddenRow mean;
#pragma unroll 4
  for (int i = 0; i < rows.n; ++i) mean.add(share, rows.row(i));
  float* to = agent.grid.mean_weights[k] + static_cast<std::size_t>(a) * rows.stride;
#pragma unroll
  for (int p = 0; p < 2; ++p) {
    if (const int at = lane * 4 + 128 * p; at < rows.stride) store_four(to + at, mean.part[p]);
  }
  if (lane != 0) return;
  float bias = 0;
  for (int i = 0; i < rows.n; ++i) bias += share * rows.bias[i];
  agent.grid.mean_bias[k][a] = bias;
}

// The number of the nearest action of the grid (ActionGrid::nearest).
__device__ int nearest_action(const Agent& agent, const float* action) {
  int number = 0;
  for (int d = agent.action_size - 1; d >= 0; --d) {
    const float bin = roundf((action[d] + 1) / 2 * (agent.ids.bins - 1));
    number = number * agent.ids.bins + static_cast<int>(fminf(fmaxf(bin, 0), agent.ids.bins - 1));
  }
  return number;
}

// Writes the batch for the rest of the update.
template <int kSize>
__device__ void load_batch(NetworkTile<true, kSize>& tile, const Agent& agent, int first_sample) {
  const int observations = agent.observation_size, stride = agent.state_action_stride;
  for_each_place<kSize>(stride, [&](int r, int i) {
    const bool there = i < observations && first_sample + r < agent.train.batch;
    agent.state_action[(first_sample + r) * stride + i] =
        there ? replay_row(tile, agent, r)[i] : 0.0f;
  });
  if (threadIdx.x >= Tile<kSize>::kRows) return;
  const int s = first_sample + threadIdx.x;
  save_return(tile, agent, threadIdx.x, s);
  agent.grid.action[s] = nearest_action(agent, replay_row(tile, agent, threadIdx.x) + observations);
}

// The mean value of each action, from the last hidden layer in x, kMostWidth actions at a time.
template <int kSize>
__device__ void value_actions(NetworkTile<true, kSize>& tile, const Agent& agent, int k,
                              int first_sample) {
  const Grid& grid = agent.grid;
  const LayerShape& output = ActionRows::output_layer(agent);
  float out[Tile<kSize>::kTiles][8][4];
  for (int first = 0; first < agent.choices; first += kMostWidth) {
    LayerShape layer = output;
    layer.outputs = min(agent.choices - first, kMostWidth);
    layer.weights = first * output.stride;
    const Weights weights(grid.mean_weights[k], layer);
    fetch_first<Pass::forward>(tile, weights);
    product<Pass::forward>(tile, weights, out);
    for_each_group<kSize>([&](const auto& group) {
      group.each([&](const auto& at, int m, int) {
        const int a = first + at.column, s = first_sample + at.row;
        if (a >= grid.means_stride || at.column >= layer.outputs) return;
        float value[8];
#pragma unroll
        for (int i = 0; i < 8; ++i)
          value[i] = at(out[m], i) + (a + i < agent.choices ? grid.mean_bias[k][a + i] : 0.0f);
        store8(grid.means[k] + static_cast<std::size_t>(s) * grid.means_stride + a, value);
      });
    });
  }
}

// The networks at s': the mean value of each action, and the last hidden layer of the target
// networks. blockIdx: (tile of samples; 2 * critic, plus 1 for its target network; agent)
template <int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, 1) next_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const int first_sample = blockIdx.x * Tile<kSize>::kRows, k = blockIdx.y / 2;
  if (first_sample >= agent.train.batch) return;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) begin_update(agent);
  auto& tile = shared_as<NetworkTile<true, kSize>>();
  const bool target = blockIdx.y % 2 == 1;
  const float* parameters = target ? agent.critic_net[k].target : agent.critic_net[k].parameters;
  const NetworkShape& trunk = agent.trunk_shape;
  begin_forward(tile, {parameters}, trunk, trunk.layers);
  choose_rows(tile, agent, first_sample);
  if (blockIdx.y == 0) load_batch(tile, agent, first_sample);
  go_to_last_rows(tile, agent);
  const int observations = agent.observation_size, next = observations + agent.action_size + 1;
  fill(tile, multiple_of_32(observations), [&](int r, int i) {
    const bool there = i < observations && first_sample + r < agent.train.batch;
    return there ? __ldg(replay_row(tile, agent, r) + next + i) : 0.0f;
  });
  forward_wide<true>(tile, parameters, trunk, first_sample, nullptr);
  if (!target) return value_actions(tile, agent, k, first_sample);
  const int stride = ActionRows::output_layer(agent).stride;
  for_each_place<kSize>(stride, [&](int r, int i) {
    agent.grid.next_hidden[k][(first_sample + r) * stride + i] = tile.x[r][i];
  });
}

// a'(s') = argmax_a of the mean over quantiles and critics, the first of equals; and the target
// networks' quantiles there. A warp for each sample. blockIdx: (kGridWarps samples, 0, agent)
__global__ void __launch_bounds__(32 * kGridWarps) grid_targets_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const int s = blockIdx.x * kGridWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (s >= agent.train.batch) return;
  const Grid& grid = agent.grid;
  const float *first = grid.means[0] + static_cast<std::size_t>(s) * grid.means_stride,
              *second = grid.means[1] + static_cast<std::size_t>(s) * grid.means_stride;
  float best = -INFINITY;
  int choice = agent.choices;
  for (int a = lane; a < agent.choices; a += 32) {
    const float value = first[a] + second[a];
    if (value > best) {
      best = value;
      choice = a;
    }
  }
  choice = index_of_largest(best, choice);
  if (choice == agent.choices) choice = 0;  // all values are NaN
  for (int k = 0; k < 2; ++k) {
    const ActionRows rows(agent, agent.critic_net[k].target, choice);
    const float z = rows.quantile(
        {grid.next_hidden[k] + static_cast<std::size_t>(s) * rows.stride, rows.stride});
    if (lane < rows.n) agent.next_quantiles[k][s * rows.n + lane] = z;
  }
}

// From the last hidden layer of a sample in x to the gradient of its sums there, through the
// quantile Huber loss (Eq. 2) of the sample's action. A warp has whole rows.
template <int kSize>
__device__ void differentiate_head(NetworkTile<true, kSize>& tile, const Agent& agent, int k,
                                   int first_sample) {
  const int batch = agent.train.batch, n = agent.critic.quantiles,
            hidden = agent.trunk_shape.layers;
  float* delta = agent.critic_trace[k].delta[hidden - 1];
  const float *first = agent.next_quantiles[0], *second = agent.next_quantiles[1];
  const float above = (threadIdx.x % 32 + 0.5f) / n, below = 1 - above;
  const int stride = ActionRows::output_layer(agent).stride;
  for_each_row<kSize>([&](int r, int lane) {
    const int s = first_sample + r;
    HiddenRow gradient;
    if (s < batch) {
      const ActionRows rows(agent, agent.critic_net[k].parameters, agent.grid.action[s]);
      const HiddenRow x(tile.x[r], stride);
      const float z = rows.quantile(x);
      const int at = s * n + min(lane, n - 1);
      const float y = td_target(agent.reward[s], agent.continues[s], first[at], second[at], 0.0f);
      float slope = 0, loss = 0;
      for (int i = 0; i < n; ++i) {
        const auto term = quantile_huber(__shfl_sync(~0u, y, i) - z, above, below, 1.0f);
        slope -= term.slope;
        loss += term.value;
      }
      const float weight = lane < n ? 1.0f / batch / n : 0.0f;
      slope = lane < n ? slope * weight : 0.0f;
      loss = sum_of_warp(lane < n ? loss * weight : 0.0f);
      if (lane < n) agent.grid.slope[k][at] = slope;
      if (lane == 0) agent.critic_loss[k][s] = loss;
      for (int i = 0; i < n; ++i) gradient.add(__shfl_sync(~0u, slope, i), rows.row(i));
#pragma unroll
      for (int p = 0; p < 2; ++p) {
        float4& g = gradient.part[p];
        const float4 h = x.part[p];
        g = {h.x > 0 ? g.x : 0.0f, h.y > 0 ? g.y : 0.0f, h.z > 0 ? g.z : 0.0f,
             h.w > 0 ? g.w : 0.0f};
      }
    }
#pragma unroll
    for (int p = 0; p < 2; ++p) {
      const int at = lane * 4 + 128 * p;
      store_four(&tile.x[r][at], gradient.part[p]);
      if (at < stride)
        store_four(delta + static_cast<std::size_t>(s) * stride + at, gradient.part[p]);
    }
  });
}

// blockIdx: (tile of samples, critic, agent)
template <int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, 1) grid_loss_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const int first_sample = blockIdx.x * Tile<kSize>::kRows, k = blockIdx.y;
  if (first_sample >= agent.train.batch) return;
  auto& tile = shared_as<NetworkTile<true, kSize>>();
  const float* parameters = agent.critic_net[k].parameters;
  const NetworkShape& trunk = agent.trunk_shape;
  begin_forward(tile, {parameters}, trunk, trunk.layers);
  fill_rows(tile, agent.state_action, agent.state_action_stride, agent.state_action_stride,
            first_sample);
  const Trace& trace = agent.critic_trace[k];
  forward_wide<true>(tile, parameters, trunk, first_sample, trace.hidden);
  differentiate_head(tile, agent, k, first_sample);
  if (trunk.layers == 1) return;
  __syncthreads();
  begin_backward(tile, {parameters}, trunk);
  backward(tile, {parameters}, trunk, first_sample, trace.delta);
}

// Adam and Polyak on the hidden layers. blockIdx: (tile of parameters, then the end of the update;
// critic; agent)
__global__ void __launch_bounds__(Step::kThreads, Step::kBlocks) trunk_kernel(const Agent* agents) {
  OVDE_BLOCK_MEMORY(memory);
  const Agent& agent = agents[blockIdx.z];
  const int k = blockIdx.y;
  if (blockIdx.x == gridDim.x - 1) {
    if (k == 0) finish_update(agent, reinterpret_cast<float*>(memory));
    return;
  }
  int index = blockIdx.x;
  step_layers<true>(agent, agent.critic_net[k], {}, agent.critic_trace[k], agent.trunk_shape, 1,
                    index, reinterpret_cast<float*>(memory));
}

// Adam and Polyak on one action's rows of the output layer; gradients are summed over its samples
// in their order. blockIdx: (action, critic, agent)
__global__ void __launch_bounds__(32 * kGridWarps) outputs_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const int a = blockIdx.x, k = blockIdx.y;
  if (a >= agent.choices) return;
  OVDE_BLOCK_MEMORY(memory);
  int* samples = reinterpret_cast<int*>(memory);  // numbers of the samples with this action
  __shared__ int count;
  if (threadIdx.x < 32) {
    int found = 0;
    for (int first = 0; first < agent.train.batch; first += 32) {
      const int s = first + threadIdx.x;
      const bool mine = s < agent.train.batch && agent.grid.action[s] == a;
      const unsigned all = __ballot_sync(~0u, mine);
      if (mine) samples[found + __popc(all & ((1u << threadIdx.x) - 1))] = s;
      found += __popc(all);
    }
    if (threadIdx.x == 0) count = found;
  }
  __syncthreads();

  const Network& net = agent.critic_net[k];
  const AdamStep adam(agent, net);
  const LayerShape& layer = ActionRows::output_layer(agent);
  const int n = agent.critic.quantiles, stride = layer.stride;
  const float *slopes = agent.grid.slope[k],
              *hidden = agent.critic_trace[k].hidden[agent.trunk_shape.layers - 1];
  const std::size_t weights = layer.weights + static_cast<std::size_t>(a) * n * stride;
  float* const arrays[] = {net.parameters, net.first_moment, net.second_moment, net.target};
  for (int e = 4 * threadIdx.x; e < n * stride; e += 4 * blockDim.x) {
    const int i = e / stride, f = e % stride;
    float4 g = {};
    for (int c = 0; c < count; ++c) {
      const float slope = slopes[samples[c] * n + i];
      g = g + slope * load_four(hidden + static_cast<std::size_t>(samples[c]) * stride + f);
    }
    float4 values[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) values[j] = load_four(arrays[j] + weights + e);
    adam(g, values);
#pragma unroll
    for (int j = 0; j < 4; ++j) store_four(arrays[j] + weights + e, values[j]);
  }
  if (const int i = threadIdx.x; i < n) {
    float gradient = 0;
    for (int c = 0; c < count; ++c) gradient += slopes[samples[c] * n + i];
    adam(net, layer.bias + a * n + i, gradient);
  }
}

// ---- acting

__device__ bool explores(const Agent& agent, const ActExchange& exchange, int index) {
  return agent.is_grid() && !exchange.plain[index];
}

// The last hidden layer of critic blockIdx.x. blockIdx: (critic, agent)
__global__ void __launch_bounds__(32 * kGridWarps)
    hidden_kernel(const Agent* agents, ActExchange exchange) {
  const int k = blockIdx.x, index = blockIdx.y;
  const Agent& agent = agents[index];
  if (!explores(agent, exchange, index)) return;
  __shared__ __align__(16) float layers[2][kMostInputs];
  for (int i = threadIdx.x; i < kMostInputs; i += blockDim.x) {
    layers[0][i] =
        i < agent.observation_size ? exchange.observation[index * exchange.observations + i] : 0.0f;
    layers[1][i] = 0;
  }
  __syncthreads();
  const NetworkShape& trunk = agent.trunk_shape;
  for (int l = 0; l < trunk.layers; ++l) {
    // weights beyond a layer's inputs are zero
    dense(agent.critic_net[k].parameters, trunk.layer[l], layers[l % 2], true, threadIdx.x / 32,
          kGridWarps, layers[(l + 1) % 2]);
    __syncthreads();
  }
  for (int i = threadIdx.x; i < ActionRows::output_layer(agent).stride; i += blockDim.x)
    agent.grid.hidden[k][i] =
        i < trunk.layer[trunk.layers - 1].outputs ? layers[trunk.layers % 2][i] : 0;
}

// Both critics' estimates for an action, a warp for each. blockIdx: (kGridWarps actions, agent)
__global__ void __launch_bounds__(32 * kGridWarps)
    arms_kernel(const Agent* agents, ActExchange exchange) {
  const int index = blockIdx.y, a = blockIdx.x * kGridWarps + threadIdx.x / 32;
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

void update_grid_agents(const GridPlan& plan, const Agent* agents, cudaStream_t stream) {
  const auto launch_tiled = [&](auto* large, auto* small, int parts) {
    plan.size == 0 ? launch_tiles<NetworkTile<true, 0>>(small, plan, parts, agents, stream)
                   : launch_tiles<NetworkTile<true, 2>>(large, plan, parts, agents, stream);
  };
  launch(grid_means_kernel, dim3(parts_of(plan.choices, kGridWarps), 2, plan.agents),
         32 * kGridWarps, 0, stream, agents);
  launch_tiled(next_kernel<2>, next_kernel<0>, 4);
  launch(grid_targets_kernel, dim3(parts_of(plan.batch, kGridWarps), 1, plan.agents),
         32 * kGridWarps, 0, stream, agents);
  launch_tiled(grid_loss_kernel<2>, grid_loss_kernel<0>, 2);
  launch(trunk_kernel, dim3(plan.trunk_tiles + 1, 2, plan.agents), Step::kThreads, Step::kBytes,
         stream, agents);
  launch(outputs_kernel, dim3(plan.choices, 2, plan.agents), 32 * kGridWarps,
         static_cast<int>(plan.batch * sizeof(int)), stream, agents);
}

void enqueue_grid_act(const Agent* agents, int choices, const ActExchange& exchange,
                      cudaStream_t stream) {
  launch(hidden_kernel, dim3(2, exchange.agents), 32 * kGridWarps, 0, stream, agents, exchange);
  launch(arms_kernel, dim3((choices + kGridWarps - 1) / kGridWarps, exchange.agents),
         32 * kGridWarps, 0, stream, agents, exchange);
  launch(choice_kernel, dim3(exchange.agents), 32, 0, stream, agents, exchange);
}

}  // namespace ovde::cuda
