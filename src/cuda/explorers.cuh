// The explorers' arithmetic (agent/explore) on the quantiles of both critics at one (s, a), by one
// warp: lane i has quantile i. Knows nothing of the critics' networks.
#pragma once

#include "cuda/layout.h"

namespace ovde::cuda {

inline constexpr double kEpistemicFloor = 1e-8, kAleatoricFloor = 1e-6;

// One agent's, in shared memory.
struct Exploration {
  float head[kMostOutputs];  // the actor's output
  double policy_action[kMostActions], std[kMostActions], moved[kMostActions];
  double z[2][kMostOutputs], weight[kMostOutputs];
  float by_quantile[2][kMostOutputs];  // d f / d z
  float by_action[2][kMostActions];
  // the smaller of the two critics' quantiles, whose each is, and N times the CDF there
  double sorted[kMostOutputs], position[kMostOutputs];
  int owner[kMostOutputs];
};

// The policy's Gaussian before the squash and its action, from the actor's output.
__device__ inline void take_head(Exploration& at, int actions) {
  if (const int d = threadIdx.x; d < actions) {
    at.std[d] = exp(fmax(fmin(double{at.head[actions + d]}, 2.0), -20.0));
    at.moved[d] = at.head[d];
    at.policy_action[d] = tanh(double{at.head[d]});
  }
}

__device__ inline double warp_sum(double x) {
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

__device__ inline Uncertainty uncertainty(const Exploration& at, int n) {
  const auto middle = [&](int i) { return (at.z[0][i] + at.z[1][i]) / 2; };
  Uncertainty u;
  u.mean = sum_over_quantiles(n, [&](int i) { return at.weight[i] * middle(i); }) / n;
  u.epistemic = sqrt(sum_over_quantiles(n,
                                        [&](int i) {
                                          const double difference = (at.z[0][i] - at.z[1][i]) / 2;
                                          return at.weight[i] * difference * difference;
                                        }) /
                     n);
  u.aleatoric = sqrt(sum_over_quantiles(n,
                                        [&](int i) {
                                          const double deviation = middle(i) - u.mean;
                                          return at.weight[i] * deviation * deviation;
                                        }) /
                     n);
  return u;
}

// by_mean * d mean/dz + by_epistemic * d epistemic/dz + by_aleatoric * d aleatoric/dz at quantile
// i.
__device__ inline double2 uncertainty_gradient(const Exploration& at, const Uncertainty& u, int n,
                                               int i, double by_mean, double by_epistemic,
                                               double by_aleatoric) {
  const double difference = at.z[0][i] - at.z[1][i];
  const double deviation = (at.z[0][i] + at.z[1][i]) / 2 - u.mean;
  const double both =
      by_mean / (2 * n) + by_aleatoric / (2 * n * fmax(u.aleatoric, kAleatoricFloor)) * deviation;
  const double apart = by_epistemic / (4 * n * fmax(u.epistemic, kEpistemicFloor)) * difference;
  return make_double2(at.weight[i] * (both + apart), at.weight[i] * (both - apart));
}

// The smaller quantiles in order; equal ones keep theirs.
__device__ inline void sort_smaller(Exploration& at, int n) {
  const auto smaller = [&](int i) { return fmin(at.z[0][i], at.z[1][i]); };
  for (int i = threadIdx.x % 32; i < n; i += 32) {
    const double value = smaller(i);
    int rank = 0;
    double below = 0;  // the weights of the smaller ones
    for (int j = 0; j < n; ++j) {
      const double other = smaller(j);
      const bool is_below = other < value || (other == value && j < i);
      rank += is_below;
      below += is_below ? at.weight[j] : 0;
    }
    at.sorted[rank] = value;
    at.position[rank] = below + at.weight[i] / 2;
    at.owner[rank] = 2 * i + (at.z[0][i] <= at.z[1][i] ? 0 : 1);
  }
  __syncwarp();
}

// The first of the sorted values that is not below x.
__device__ inline int first_not_below(const Exploration& at, int n, double x) {
  int above = 0;
  while (above < n && at.sorted[above] < x) ++above;
  return above;
}

__device__ inline double gaussian_center(const Agent& agent, const Uncertainty& u) {
  return agent.exploring.current_return == CurrentReturn::gaussian
             ? u.mean - agent.exploring.beta * u.epistemic
             : u.mean;
}

// Phi(x) of the current return (agent/explore/current_return.cpp).
__device__ inline double current_cdf(const Agent& agent, const Exploration& at,
                                     const Uncertainty& u, double x) {
  const int n = agent.quantiles;
  if (agent.exploring.current_return != CurrentReturn::quantiles) {
    const double t = (x - gaussian_center(agent, u)) / fmax(u.aleatoric, kAleatoricFloor);
    return 0.5 * erfc(-t / sqrt(2.0));
  }
  if (x > at.sorted[n - 1]) return 1;
  if (!(x > at.sorted[0])) return at.position[0] / n;
  const int above = first_not_below(at, n, x), below = above - 1;
  const double share = (x - at.sorted[below]) / (at.sorted[above] - at.sorted[below]);
  return (at.position[below] + share * (at.position[above] - at.position[below])) / n;
}

// Sets by_quantile to the direction in which the optimistic value grows, or Phi of it.
__device__ inline void ovd_direction(const Agent& agent, Exploration& at, const Uncertainty& u,
                                     double upper_bound, double noise) {
  const Exploring& e = agent.exploring;
  const int n = agent.quantiles;
  const bool full = e.direction == Direction::full;
  const bool gaussian = e.current_return != CurrentReturn::quantiles;
  const double spread = fmax(u.aleatoric, kAleatoricFloor);
  const double t = (upper_bound - gaussian_center(agent, u)) / spread;
  const double beta = e.current_return == CurrentReturn::gaussian ? e.beta : 0;
  for (int i = threadIdx.x % 32; i < n; i += 32) {
    double2 g = uncertainty_gradient(at, u, n, i, 1, e.beta, noise);
    if (full && gaussian) {
      const double2 center = uncertainty_gradient(at, u, n, i, -1, beta, -t);
      g = make_double2((g.x + center.x) / spread, (g.y + center.y) / spread);
    }
    at.by_quantile[0][i] = static_cast<float>(g.x);
    at.by_quantile[1][i] = static_cast<float>(g.y);
  }
  __syncwarp();
  if (!full || gaussian || upper_bound > at.sorted[n - 1] || !(upper_bound > at.sorted[0])) return;

  const int above = first_not_below(at, n, upper_bound), below = above - 1;
  const double gap = at.sorted[above] - at.sorted[below];
  const double share = (upper_bound - at.sorted[below]) / gap;
  for (int i = threadIdx.x % 32; i < n; i += 32) {
    const double2 g = uncertainty_gradient(at, u, n, i, 1, e.beta, noise);
    for (int k = 0; k < 2; ++k) {
      double value = (k == 0 ? g.x : g.y) / gap;
      if (at.owner[below] == 2 * i + k) value -= (1 - share) / gap;
      if (at.owner[above] == 2 * i + k) value -= share / gap;
      at.by_quantile[k][i] = static_cast<float>(value);
    }
  }
  __syncwarp();
}

// OAC: Q_UB = mean + beta |Q_1 - Q_2| / 2, differentiated.
__device__ inline void oac_direction(const Agent& agent, Exploration& at) {
  const int n = agent.quantiles;
  const double difference =
      sum_over_quantiles(n, [&](int i) { return at.weight[i] * (at.z[0][i] - at.z[1][i]); });
  const double sign = difference > 0 ? 1 : difference < 0 ? -1 : 0;
  for (int i = threadIdx.x % 32; i < n; i += 32) {
    at.by_quantile[0][i] =
        static_cast<float>(at.weight[i] * (1 + agent.exploring.oac_beta * sign) / (2 * n));
    at.by_quantile[1][i] =
        static_cast<float>(at.weight[i] * (1 - agent.exploring.oac_beta * sign) / (2 * n));
  }
}

// d f / du for this lane's action, from the gradient by the action; zero beyond the last.
__device__ inline double through_squash(const Agent& agent, const Exploration& at) {
  const int d = threadIdx.x % 32;
  if (d >= agent.actions) return 0;
  const double action = static_cast<float>(at.policy_action[d]);
  return (double{at.by_action[0][d]} + at.by_action[1][d]) * (1 - action * action);
}

// mu_E = mu + sqrt(2 delta) Sigma g / sqrt(g' Sigma g)
__device__ inline void oac_move(const Agent& agent, Exploration& at) {
  const int d = threadIdx.x % 32;
  const double gradient = through_squash(agent, at), std = d < agent.actions ? at.std[d] : 0;
  const double length = sqrt(warp_sum(std * gradient * std * gradient)) + 1e-5;
  if (d < agent.actions) at.moved[d] += agent.exploring.oac_step * std * std * gradient / length;
}

// One step before the squash (Eq. 15).
__device__ inline void ovd_move(const Agent& agent, Exploration& at, double m) {
  const int d = threadIdx.x % 32, samples = max(agent.exploring.samples, 1);
  const double gradient = through_squash(agent, at);
  const double squares = warp_sum(gradient * gradient);
  const double length = agent.exploring.direction == Direction::raw ? 1 : sqrt(squares) + 1e-8;
  if (d < agent.actions) at.moved[d] += agent.exploring.alpha / samples * m * gradient / length;
}

// How OVD-Explorer weighs one optimistic value, given its noise (Proposition 1); sets
// by_quantile to the direction of its step.
__device__ inline double ovd_weigh(const Agent& agent, Exploration& at, const Uncertainty& u,
                                   double noise) {
  const double upper_bound = u.mean + agent.exploring.beta * u.epistemic + noise * u.aleatoric;
  const double m = log(current_cdf(agent, at, u, upper_bound) / agent.exploring.normaliser) + 1;
  ovd_direction(agent, at, u, upper_bound, noise);
  return m;
}

}  // namespace ovde::cuda
