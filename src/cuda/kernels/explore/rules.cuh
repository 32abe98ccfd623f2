// The explorers' rules (agent/explore/rules.h) at the quantiles of both critics at one (s, a), by
// one warp. Knows nothing of the critics' networks.
#pragma once

#include "cuda/agent.h"
#include "cuda/tile/warp.cuh"

namespace ovde::cuda {

// The numbers of one agent's explorer, in shared memory.
struct Exploration {
  float head[kMostOutputs];                         // the actor's output
  double std[kMostActions], moved[kMostActions];    // the policy's; its mean after the steps
  float action[kMostActions];                       // the policy's own, squashed
  double z[2][kMostOutputs], weight[kMostOutputs];  // the quantiles
  float by_quantile[2][kMostOutputs], by_action[2][kMostActions];  // d f / d z, d f / d a
  double gradient[kMostActions];  // d f / d a of both critics, then d f / d u
  // the smaller of the two critics' quantiles, in the format of SortedReturn
  double sorted[kMostOutputs], position[kMostOutputs];
  int owner[kMostOutputs];
};

struct SharedQuantiles {
  OVDE_BOTH int size() const { return n; }
  OVDE_BOTH double value(int critic, int i) const { return at.z[critic][i]; }
  OVDE_BOTH double weight(int i) const { return at.weight[i]; }
  OVDE_BOTH const UncertaintyForm& form() const { return uncertainty; }
  const Exploration& at;
  int n;
  const UncertaintyForm& uncertainty;
};

// The policy's Gaussian before the squash and its action, from the actor's output.
// A deterministic policy has a standard deviation of zero.
__device__ inline void take_head(Exploration& at, int actions, bool deterministic) {
  if (const int d = threadIdx.x; d < actions) {
    const double raw = deterministic ? 0 : double{at.head[actions + d]};
    const double log_std = fmax(fmin(raw, double{kMaxLogStd}), double{kMinLogStd});
    at.std[d] = deterministic ? 0 : exp(log_std);
    at.moved[d] = at.head[d];
    at.action[d] = static_cast<float>(tanh(double{at.head[d]}));
  }
}

// Sorts the smaller quantiles; equal ones keep their order.
__device__ inline void sort_smaller(Exploration& at, int n) {
  const auto smaller = [&](int i) { return fmin(at.z[0][i], at.z[1][i]); };
  Warp{}.each(n, [&](int i) {
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
  });
}

// The rule's estimates from the quantiles.
template <typename Rule>
__device__ typename Rule::Belief believe(const Rule& rule, Exploration& at, int n,
                                         const UncertaintyForm& form) {
  if (rule.sorts()) sort_smaller(at, n);
  return rule.believe(Warp{}, SharedQuantiles{at, n, form});
}

// Sets by_quantile to the direction of one sample's step; returns its weight m.
template <typename Rule>
__device__ double weigh(const Rule& rule, Exploration& at, int n, const UncertaintyForm& form,
                        const typename Rule::Belief& belief, double noise) {
  const SortedReturn sorted = {at.sorted, at.position, at.owner, n};
  return rule.weigh(Warp{}, SharedQuantiles{at, n, form}, belief, sorted, noise,
                    [&](int i, const ByQuantile& g) {
                      for (int k = 0; k < 2; ++k)
                        at.by_quantile[k][i] = static_cast<float>(g.critic[k]);
                    });
}

// One step of the mean along by_action.
template <typename Rule>
__device__ void move(const Rule& rule, Exploration& at, int actions, double m) {
  Warp{}.each(actions,
              [&](int d) { at.gradient[d] = double{at.by_action[0][d]} + at.by_action[1][d]; });
  rule.move(Warp{}, actions, at.action, at.std, m, at.gradient, at.moved);
}

}  // namespace ovde::cuda
