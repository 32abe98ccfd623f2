#include "cuda/act.cuh"

#include <cmath>

#include "cuda/check.h"

namespace ovde::cuda {

namespace {

constexpr int kThreads = 1024, kWarps = kThreads / 32, kParts = 8;
constexpr double kEpistemicFloor = 1e-8, kAleatoricFloor = 1e-6;

// One agent's pass; everything a block shares.
struct Shared {
  float input[kMostInputs];
  float hidden[2][kMostHidden][kMostWidth];  // of each critic; the actor uses the first
  float delta[2][2][kMostWidth];             // of each critic: this layer's and the next one's
  float partial[2][kParts][kMostWidth];      // sums over a part of a layer's outputs
  float head[kMostOutputs];
  double z[2][kMostOutputs];
  float by_quantile[2][kMostOutputs];  // d f / d z
  float by_action[2][kMostActions];
  double policy_action[kMostActions], std[kMostActions], moved[kMostActions];
  double sorted[kMostOutputs];  // the smaller of the two critics' quantiles, and whose each is
  int owner[kMostOutputs];
  double m;
};

// y = W x + b, by `warps` warps of which this is number `warp`.
__device__ void dense(const float* parameters, const LayerShape layer, const float* x, bool relu,
                      int warp, int warps, float* y) {
  constexpr int kTogether = 8;  // rows in flight
  const int lane = threadIdx.x % 32;
  for (int first = warp; first < layer.outputs; first += warps * kTogether) {
    float sum[kTogether] = {};
    for (int i = lane * 4; i < layer.stride; i += 128) {
      const float4 a = *reinterpret_cast<const float4*>(x + i);
#pragma unroll
      for (int t = 0; t < kTogether; ++t) {
        const int o = first + t * warps;
        if (o >= layer.outputs) break;
        const float4 w =
            *reinterpret_cast<const float4*>(parameters + layer.weights + o * layer.stride + i);
        sum[t] += a.x * w.x + a.y * w.y + a.z * w.z + a.w * w.w;
      }
    }
#pragma unroll
    for (int t = 0; t < kTogether; ++t) {
      const int o = first + t * warps;
      if (o >= layer.outputs) break;
      for (int offset = 16; offset > 0; offset /= 2) sum[t] += __shfl_xor_sync(~0u, sum[t], offset);
      if (lane == 0) {
        const float value = sum[t] + parameters[layer.bias + o];
        y[o] = relu ? fmaxf(value, 0.0f) : value;
      }
    }
  }
}

// A network at shared.input; ends with every thread done. Inputs beyond a layer's own are zero: so
// are the weights there.
__device__ void run_network(const float* parameters, const NetworkShape& shape, Shared& shared,
                            int slot, int warp, int warps, float* output) {
  for (int l = 0; l < shape.layers; ++l) {
    const bool last = l == shape.layers - 1;
    dense(parameters, shape.layer[l], l == 0 ? shared.input : shared.hidden[slot][l - 1], !last,
          warp, warps, last ? output : shared.hidden[slot][l]);
    __syncthreads();
  }
}

// From shared.by_quantile to shared.by_action, both critics side by side; ends with every thread
// done.
__device__ void action_gradient(const Agent& agent, Shared& shared) {
  const NetworkShape& shape = agent.critic_shape;
  const int k = threadIdx.x / 512, t = threadIdx.x % 512, column = t % 64 * 4, part = t / 64;
  const float* parameters = agent.critic[k].parameters;
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

// ---- the explorers' arithmetic, by one warp; lane i has quantiles i and i + 32

__device__ double warp_sum(double x) {
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
  return x;
}

template <typename Term>
__device__ double sum_over_quantiles(int n, Term&& term) {
  double sum = 0;
  for (int i = threadIdx.x % 32; i < n; i += 32) sum += term(i);
  return warp_sum(sum);
}

struct Uncertainty {
  double mean, epistemic, aleatoric;
};

__device__ Uncertainty uncertainty(const Shared& shared, int n) {
  const auto middle = [&](int i) { return (shared.z[0][i] + shared.z[1][i]) / 2; };
  Uncertainty u;
  u.mean = sum_over_quantiles(n, middle) / n;
  u.epistemic = sqrt(sum_over_quantiles(n,
                                        [&](int i) {
                                          const double difference =
                                              (shared.z[0][i] - shared.z[1][i]) / 2;
                                          return difference * difference;
                                        }) /
                     n);
  u.aleatoric = sqrt(sum_over_quantiles(n,
                                        [&](int i) {
                                          const double deviation = middle(i) - u.mean;
                                          return deviation * deviation;
                                        }) /
                     n);
  return u;
}

// by_mean * d mean/dz + by_epistemic * d epistemic/dz + by_aleatoric * d aleatoric/dz at quantile
// i.
__device__ double2 uncertainty_gradient(const Shared& shared, const Uncertainty& u, int n, int i,
                                        double by_mean, double by_epistemic, double by_aleatoric) {
  const double difference = shared.z[0][i] - shared.z[1][i];
  const double deviation = (shared.z[0][i] + shared.z[1][i]) / 2 - u.mean;
  const double both =
      by_mean / (2 * n) + by_aleatoric / (2 * n * fmax(u.aleatoric, kAleatoricFloor)) * deviation;
  const double apart = by_epistemic / (4 * n * fmax(u.epistemic, kEpistemicFloor)) * difference;
  return make_double2(both + apart, both - apart);
}

// The smaller quantiles in order; equal ones keep theirs.
__device__ void sort_smaller(Shared& shared, int n) {
  const auto smaller = [&](int i) { return fmin(shared.z[0][i], shared.z[1][i]); };
  for (int i = threadIdx.x % 32; i < n; i += 32) {
    const double value = smaller(i);
    int rank = 0;
    for (int j = 0; j < n; ++j) {
      const double other = smaller(j);
      rank += other < value || (other == value && j < i);
    }
    shared.sorted[rank] = value;
    shared.owner[rank] = 2 * i + (shared.z[0][i] <= shared.z[1][i] ? 0 : 1);
  }
  __syncwarp();
}

// The first of the sorted values that is not below x.
__device__ int first_not_below(const Shared& shared, int n, double x) {
  int above = 0;
  while (above < n && shared.sorted[above] < x) ++above;
  return above;
}

__device__ double gaussian_center(const Agent& agent, const Uncertainty& u) {
  return agent.exploring.current_return == CurrentReturn::gaussian
             ? u.mean - agent.exploring.beta * u.epistemic
             : u.mean;
}

// Phi(x) of the current return (agent/explore/current_return.cpp).
__device__ double current_cdf(const Agent& agent, const Shared& shared, const Uncertainty& u,
                              double x) {
  const int n = agent.quantiles;
  if (agent.exploring.current_return != CurrentReturn::quantiles) {
    const double t = (x - gaussian_center(agent, u)) / fmax(u.aleatoric, kAleatoricFloor);
    return 0.5 * erfc(-t / sqrt(2.0));
  }
  if (x > shared.sorted[n - 1]) return 1;
  if (!(x > shared.sorted[0])) return 0.5 / n;
  const int above = first_not_below(shared, n, x), below = above - 1;
  return (below + 0.5 +
          (x - shared.sorted[below]) / (shared.sorted[above] - shared.sorted[below])) /
         n;
}

// Sets by_quantile to the direction in which the optimistic value grows, or Phi of it.
__device__ void ovd_direction(const Agent& agent, Shared& shared, const Uncertainty& u,
                              double upper_bound, double noise) {
  const Exploring& e = agent.exploring;
  const int n = agent.quantiles;
  const bool full = e.direction == Direction::full;
  const bool gaussian = e.current_return != CurrentReturn::quantiles;
  const double spread = fmax(u.aleatoric, kAleatoricFloor);
  const double t = (upper_bound - gaussian_center(agent, u)) / spread;
  const double beta = e.current_return == CurrentReturn::gaussian ? e.beta : 0;
  for (int i = threadIdx.x % 32; i < n; i += 32) {
    double2 g = uncertainty_gradient(shared, u, n, i, 1, e.beta, noise);
    if (full && gaussian) {
      const double2 center = uncertainty_gradient(shared, u, n, i, -1, beta, -t);
      g = make_double2((g.x + center.x) / spread, (g.y + center.y) / spread);
    }
    shared.by_quantile[0][i] = static_cast<float>(g.x);
    shared.by_quantile[1][i] = static_cast<float>(g.y);
  }
  __syncwarp();
  if (!full || gaussian || upper_bound > shared.sorted[n - 1] || !(upper_bound > shared.sorted[0]))
    return;

  const int above = first_not_below(shared, n, upper_bound), below = above - 1;
  const double gap = shared.sorted[above] - shared.sorted[below];
  const double share = (upper_bound - shared.sorted[below]) / gap;
  for (int i = threadIdx.x % 32; i < n; i += 32) {
    const double2 g = uncertainty_gradient(shared, u, n, i, 1, e.beta, noise);
    for (int k = 0; k < 2; ++k) {
      double value = (k == 0 ? g.x : g.y) / gap;
      if (shared.owner[below] == 2 * i + k) value -= (1 - share) / gap;
      if (shared.owner[above] == 2 * i + k) value -= share / gap;
      shared.by_quantile[k][i] = static_cast<float>(value);
    }
  }
  __syncwarp();
}

// OAC: Q_UB = mean + beta |Q_1 - Q_2| / 2, differentiated.
__device__ void oac_direction(const Agent& agent, Shared& shared) {
  const int n = agent.quantiles;
  const double difference =
      sum_over_quantiles(n, [&](int i) { return shared.z[0][i] - shared.z[1][i]; });
  const double sign = difference > 0 ? 1 : difference < 0 ? -1 : 0;
  for (int i = threadIdx.x % 32; i < n; i += 32) {
    shared.by_quantile[0][i] = static_cast<float>((1 + agent.exploring.oac_beta * sign) / (2 * n));
    shared.by_quantile[1][i] = static_cast<float>((1 - agent.exploring.oac_beta * sign) / (2 * n));
  }
}

// d f / du for this lane's action, from the gradient by the action; zero beyond the last.
__device__ double through_squash(const Agent& agent, const Shared& shared) {
  const int d = threadIdx.x % 32;
  if (d >= agent.actions) return 0;
  const double action = static_cast<float>(shared.policy_action[d]);
  return (double{shared.by_action[0][d]} + shared.by_action[1][d]) * (1 - action * action);
}

// mu_E = mu + sqrt(2 delta) Sigma g / sqrt(g' Sigma g)
__device__ void oac_move(const Agent& agent, Shared& shared) {
  const int d = threadIdx.x % 32;
  const double gradient = through_squash(agent, shared),
               std = d < agent.actions ? shared.std[d] : 0;
  const double length = sqrt(warp_sum(std * gradient * std * gradient)) + 1e-5;
  if (d < agent.actions)
    shared.moved[d] += agent.exploring.oac_step * std * std * gradient / length;
}

// One step before the squash (Eq. 15).
__device__ void ovd_move(const Agent& agent, Shared& shared, double m) {
  const int d = threadIdx.x % 32, samples = max(agent.exploring.samples, 1);
  const double gradient = through_squash(agent, shared);
  const double squares = warp_sum(gradient * gradient);
  const double length = agent.exploring.direction == Direction::raw ? 1 : sqrt(squares) + 1e-8;
  if (d < agent.actions) shared.moved[d] += agent.exploring.alpha / samples * m * gradient / length;
}

// blockIdx: agent
__global__ void __launch_bounds__(kThreads) act(const Agent* agents, ActExchange exchange) {
  __shared__ Shared shared;
  const int index = blockIdx.x;
  const Agent& agent = agents[index];
  const int warp = threadIdx.x / 32, actions = agent.actions;
  for (int i = threadIdx.x; i < kMostInputs; i += kThreads)
    shared.input[i] =
        i < agent.observations ? exchange.observation[index * exchange.observations + i] : 0.0f;
  for (int i = threadIdx.x; i < 2 * kMostHidden * kMostWidth; i += kThreads)
    (&shared.hidden[0][0][0])[i] = 0;
  __syncthreads();

  // the policy
  run_network(agent.actor.parameters, agent.actor_shape, shared, 0, warp, kWarps, shared.head);
  if (threadIdx.x < actions) {
    const int d = threadIdx.x, at = index * exchange.actions + d;
    exchange.mean[at] = shared.head[d];
    shared.std[d] = exp(fmax(fmin(double{shared.head[actions + d]}, 2.0), -20.0));
    exchange.std[at] = shared.std[d];
    shared.moved[d] = shared.head[d];
    shared.policy_action[d] = tanh(double{shared.head[d]});
    shared.input[agent.observations + d] = static_cast<float>(shared.policy_action[d]);
  }
  const Exploring& e = agent.exploring;
  const bool plain = e.behaviour == Behaviour::gaussian || exchange.plain[index];
  __syncthreads();

  shared.m = nan("");
  if (!plain) {
    // both critics at the policy's own action; the actor's activations are not needed any more
    const int k = warp / 16;
    run_network(agent.critic[k].parameters, agent.critic_shape, shared, k, warp % 16, 16,
                shared.by_quantile[k]);
    for (int i = threadIdx.x; i < 2 * agent.quantiles; i += kThreads) {
      const int critic = i / agent.quantiles, at = i % agent.quantiles;
      shared.z[critic][at] = shared.by_quantile[critic][at];
    }
    __syncthreads();

    if (e.behaviour == Behaviour::oac) {
      if (warp == 0) oac_direction(agent, shared);
      __syncthreads();
      action_gradient(agent, shared);
      if (warp == 0) oac_move(agent, shared);
    } else {
      Uncertainty u{};
      if (warp == 0) {
        u = uncertainty(shared, agent.quantiles);
        if (e.current_return == CurrentReturn::quantiles) sort_smaller(shared, agent.quantiles);
      }
      const int samples = max(e.samples, 1);
      double m_sum = 0;
      for (int sample = 0; sample < samples; ++sample) {
        double m = 0;
        if (warp == 0) {
          const double noise =
              e.samples > 0 ? exchange.explorer_noise[index * exchange.samples + sample] : 0;
          const double upper_bound = u.mean + e.beta * u.epistemic + noise * u.aleatoric;
          m = log(current_cdf(agent, shared, u, upper_bound) / e.normaliser) + 1;
          ovd_direction(agent, shared, u, upper_bound, noise);
        }
        m_sum += m;
        __syncthreads();
        action_gradient(agent, shared);
        if (warp == 0) ovd_move(agent, shared, m);
        __syncthreads();
      }
      if (threadIdx.x == 0) shared.m = m_sum / samples;
    }
    __syncthreads();
  }
  if (threadIdx.x < actions)
    exchange.moved[index * exchange.actions + threadIdx.x] = shared.moved[threadIdx.x];
  if (threadIdx.x == 0) exchange.m[index] = shared.m;
}

}  // namespace

void enqueue_act(const Agent* agents, const ActExchange& exchange, cudaStream_t stream) {
  act<<<exchange.agents, kThreads, 0, stream>>>(agents, exchange);
  check(cudaGetLastError(), "launching the behaviour policies");
}

}  // namespace ovde::cuda
