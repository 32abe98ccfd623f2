// The behaviour policies of agents with an actor: the policy's Gaussian at one observation, and the
// steps of its explorer. Always in fp32, the rules in double precision.
#include "cuda/kernels/explore/act.cuh"

#include "cuda/kernels/explore/dense_layer.cuh"
#include "cuda/kernels/explore/rules.cuh"
#include "cuda/kernels/launch.cuh"
#include "cuda/tile/iqn_network.cuh"

namespace ovde::cuda {

namespace {

// The policy's Gaussian before the squash and its action, from the actor's output.
// A deterministic policy has a standard deviation of zero.
__device__ void take_head(Exploration& at, int actions, bool deterministic) {
  if (const int d = threadIdx.x; d < actions) {
    const double raw = deterministic ? 0 : double{at.head[actions + d]};
    const double log_std = fmax(fmin(raw, double{kMaxLogStd}), double{kMinLogStd});
    at.std[d] = deterministic ? 0 : exp(log_std);
    at.moved[d] = at.head[d];
    at.action[d] = static_cast<float>(tanh(double{at.head[d]}));
  }
}

// ---- the policy, and critics with fixed fractions

constexpr int kActThreads = 1024, kActWarps = kActThreads / 32, kParts = 8;

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
    float4 sum = all_four(0);
    if (column < layer.stride) {
      const float* weights = parameters + layer.weights + column;
#pragma unroll 16
      for (int o = part; o < layer.outputs; o += kParts)
        sum = sum + delta[o] * load_four(weights + o * layer.stride);
    }
    store_four(&shared.partial[k][part][column], sum);
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
  for (int d = t / 32; d < agent.action_size; d += 16) {
    float sum = 0;
    for (int o = lane; o < layer.outputs; o += 32)
      sum += delta[o] * parameters[layer.weights + o * layer.stride + agent.observation_size + d];
    sum = sum_of_warp(sum);
    if (lane == 0) shared.by_action[k][d] = sum;
  }
  __syncthreads();
}

// Moves the mean once, by both critics at shared.input; ends with a barrier. The actor's
// activations are no longer needed. Returns m to the first warp.
template <typename Rule>
__device__ double climb(const Rule& rule, const Agent& agent, const double* noises,
                        Shared& shared) {
  const int n = agent.critic.quantiles;
  const float* parameters = agent.critic_net[side()].parameters;
  run_critic(agent, parameters, shared);
  for (int i = threadIdx.x; i < 2 * n; i += kActThreads) {
    const int critic = i / n, at = i % n;
    shared.z[critic][at] = shared.by_quantile[critic][at];
    shared.weight[at] = 1;
  }
  __syncthreads();

  return take_steps(rule, shared, n, agent.action_size, agent.critic.uncertainty, noises,
                    [&] { action_gradient(agent, parameters, shared); });
}

// The action of the moved mean, as input of the next ascent; ends with a barrier.
__device__ void continue_from_moved(const Agent& agent, Shared& shared) {
  if (const int d = threadIdx.x; d < agent.action_size)
    shared.input[agent.observation_size + d] = shared.action[d] =
        static_cast<float>(tanh(shared.moved[d]));
  __syncthreads();
}

// Inputs of the explorers whose critics take fractions.
__device__ void hand_over(const Agent& agent, const Shared& shared, bool plain) {
  const IqnActing& acting = agent.acting;
  if (threadIdx.x == 0) *acting.explores = !plain;
  if (threadIdx.x < 2 * agent.action_size) acting.head[threadIdx.x] = shared.head[threadIdx.x];
  if (threadIdx.x < agent.observation_size + agent.action_size)
    acting.input[threadIdx.x] = shared.input[threadIdx.x];
}

// blockIdx: agent
__global__ void __launch_bounds__(kActThreads) act(const Agent* agents, ActExchange exchange) {
  __shared__ Shared shared;
  const int index = blockIdx.x;
  const Agent& agent = agents[index];
  if (agent.is_grid()) return;  // cuda/kernels/discrete.cu
  const int warp = threadIdx.x / 32, actions = agent.action_size;
  for (int i = threadIdx.x; i < kMostInputs; i += kActThreads)
    shared.input[i] =
        i < agent.observation_size ? exchange.observation[index * exchange.observations + i] : 0.0f;
  for (int i = threadIdx.x; i < 2 * kMostHidden * kMostWidth; i += kActThreads)
    (&shared.hidden[0][0][0])[i] = 0;
  __syncthreads();

  // the policy
  run_network(agent.actor_net.parameters, agent.actor_shape, shared, 0, warp, kActWarps,
              shared.head);
  take_head(shared, actions, agent.is_deterministic());
  if (threadIdx.x < actions) {
    const int d = threadIdx.x, at = index * exchange.actions + d;
    exchange.mean[at] = shared.head[d];
    exchange.std[at] = shared.std[d];
    shared.input[agent.observation_size + d] = shared.action[d];
  }
  const DeviceRule& explorer = agent.explorer;
  const bool plain = !explorer.explores() || exchange.plain[index];
  __syncthreads();
  if (agent.iqn && explorer.explores()) hand_over(agent, shared, plain);

  shared.m = nan("");
  if (!plain && !agent.iqn) {
    explorer.visit([&](const auto& rule) {
      const double* noise = exchange.explorer_noise + index * exchange.samples;
      double m_sum = 0;
      for (int ascent = 0; ascent < rule.ascents; ++ascent) {
        if (ascent > 0) continue_from_moved(agent, shared);
        m_sum += climb(rule, agent, noise, shared);
      }
      if (threadIdx.x == 0) shared.m = m_sum / rule.ascents;
    });
    __syncthreads();
  }
  if (threadIdx.x < actions)
    exchange.moved[index * exchange.actions + threadIdx.x] = shared.moved[threadIdx.x];
  if (threadIdx.x == 0) exchange.m[index] = shared.m;
}

// ---- critics that take fractions as inputs: both at one new set of fractions, then the steps of
// the mean

// A tile of size 0 or 1 holds the fractions of one sample.
template <int kSize>
using Features = FeaturePass<true, kSize>;
template <int kSize>
using Critic = FractionPass<true, kSize>;

__device__ bool explores(const Agent& agent, const ActExchange& exchange) {
  return agent.iqn && exchange.ascent < agent.explorer.ascents() && *agent.acting.explores;
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
  if (!explores(agent, exchange)) return;
  const int k = blockIdx.x, r = threadIdx.x;
  auto& tile = shared_as<IqnTile<true, kSize>>();
  const IqnRows rows = {agent.critic.quantiles, 0, 1}, sample = {1, 0, 1};
  const PassParameters network = {agent.critic_net[k].parameters};
  Features<kSize> features(tile, network, agent.critic_shape, agent.iqn_trace[k], sample);
  Critic<kSize> critic(tile, network, agent.critic_shape, agent.iqn_trace[k], rows,
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
  if (!explores(agent, exchange)) return;
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
    if (i == 0) {
      const double before = exchange.ascent > 0 ? exchange.m[blockIdx.z] : 0;
      exchange.m[blockIdx.z] = before + m_sum / samples / rule.ascents;
    }
  });
}

// The gradient of critic blockIdx.x by the action, for each of these directions.
template <int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, 1)
    gradients_kernel(const Agent* agents, ActExchange exchange) {
  const Agent& agent = agents[blockIdx.z];
  if (!explores(agent, exchange)) return;
  const IqnActing& acting = agent.acting;
  const int k = blockIdx.x, r = threadIdx.x, n = agent.critic.quantiles,
            actions = agent.action_size;
  auto& tile = shared_as<IqnTile<true, kSize>>();
  const int place = blockIdx.y;  // in the trace, which holds a batch
  const IqnRows rows = {n, place, 1}, one = {1, place, 1};
  const PassParameters network = {agent.critic_net[k].parameters};
  Features<kSize> features(tile, network, agent.critic_shape, agent.iqn_trace[k], one);
  Critic<kSize> critic(tile, network, agent.critic_shape, agent.iqn_trace[k], rows,
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
    to_actions(tile, network.values, agent.critic_shape.layer[0], agent.observation_size, actions);
    for_each_row<kSize>([&](int row, int d) {
      if (row == 0 && d < actions) acting.by_action[k][sample * actions + d] = tile.x[row][d];
    });
    __syncthreads();  // the next sample fills x
  }
}

// Moves the mean: one warp.
__global__ void __launch_bounds__(32) move_kernel(const Agent* agents, ActExchange exchange) {
  const Agent& agent = agents[blockIdx.z];
  if (!explores(agent, exchange)) return;
  __shared__ Exploration at;
  const IqnActing& acting = agent.acting;
  const int actions = agent.action_size, d = threadIdx.x;
  double* moved = exchange.moved + blockIdx.z * exchange.actions;
  if (d < 2 * actions) at.head[d] = acting.head[d];
  __syncwarp();
  take_head(at, actions, agent.is_deterministic());
  if (d < actions && exchange.ascent > 0) {
    at.moved[d] = moved[d];
    at.action[d] = acting.input[agent.observation_size + d];
  }
  __syncwarp();
  agent.explorer.visit([&](const auto& rule) {
    for (int sample = 0; sample < max(rule.samples, 1); ++sample) {
      for (int k = 0; d < actions && k < 2; ++k)
        at.by_action[k][d] = acting.by_action[k][sample * actions + d];
      __syncwarp();
      move(rule, at, actions, acting.m[sample]);
    }
  });
  if (d < actions) {
    moved[d] = at.moved[d];
    acting.input[agent.observation_size + d] = static_cast<float>(tanh(at.moved[d]));
  }
}

}  // namespace

void enqueue_act(const Agent* agents, const ActExchange& exchange, cudaStream_t stream) {
  launch(act, dim3(exchange.agents), kActThreads, 0, stream, agents, exchange);
}

void enqueue_iqn_act(const Agent* agents, const ActExchange& exchange, cudaStream_t stream) {
  constexpr int kThreads = Tile<1>::kThreads;
  const bool is_small = exchange.size == 0;
  const int bytes = is_small ? sizeof(IqnTile<true, 0>) : sizeof(IqnTile<true, 1>);
  const auto values = is_small ? values_kernel<0> : values_kernel<1>;
  const auto gradients = is_small ? gradients_kernel<0> : gradients_kernel<1>;
  ActExchange now = exchange;
  const auto enqueue = [&](auto kernel, int parts, int samples, int threads, int bytes) {
    launch(kernel, dim3(parts, samples, exchange.agents), threads, bytes, stream, agents, now);
  };
  for (now.ascent = 0; now.ascent < exchange.ascents; ++now.ascent) {
    enqueue(values, 2, 1, kThreads, bytes);
    enqueue(directions_kernel, 1, 1, 32, 0);
    enqueue(gradients, 2, exchange.together, kThreads, bytes);
    enqueue(move_kernel, 1, 1, 32, 0);
  }
}

}  // namespace ovde::cuda
