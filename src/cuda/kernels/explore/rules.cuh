// The explorers' rules (agent/explore/rules.h) at the quantiles of both critics at one (s, a), by
// one warp.
#pragma once

#include "agent/explore/rules.h"
#include "cuda/agent.h"
#include "cuda/kernels/critic/uncertainty.cuh"
#include "cuda/tile/warp.cuh"

namespace ovde::cuda {

// The numbers of one agent's explorer, in shared memory.
template <int kActions>
struct ExplorationOf {
  float head[2 * kActions];                         // the actor's output
  double std[kActions], moved[kActions];            // the policy's; its mean after the steps
  float action[kActions];                           // the policy's own, squashed
  double z[2][kMostOutputs], weight[kMostOutputs];  // the quantiles
  float by_quantile[2][kMostOutputs], by_action[2][kActions];  // d f / d z, d f / d a
  double gradient[kActions];  // d f / d a of both critics, then d f / d u
  // the smaller of the two critics' quantiles, in the format of SortedReturn
  double sorted[kMostOutputs], position[kMostOutputs];
  int owner[kMostOutputs];
};

using Exploration = ExplorationOf<kMostActions>;

template <typename At>
__device__ ArrayQuantiles<double> shared_quantiles(const At& at, int n,
                                                   const UncertaintyForm& form) {
  return {{at.z[0], at.z[1]}, at.weight, n, form};
}

// Sorts the smaller quantiles; equal ones keep their order.
template <typename At>
__device__ void sort_smaller(At& at, int n) {
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
template <typename Rule, typename At>
__device__ typename Rule::Belief believe(const Rule& rule, At& at, int n,
                                         const UncertaintyForm& form) {
  if (rule.sorts()) sort_smaller(at, n);
  return rule.believe(Warp{}, shared_quantiles(at, n, form));
}

// Sets by_quantile to the direction of one sample's step; returns its weight m.
template <typename Rule, typename At>
__device__ double weigh(const Rule& rule, At& at, int n, const UncertaintyForm& form,
                        const typename Rule::Belief& belief, double noise) {
  const SortedReturn sorted = {at.sorted, at.position, at.owner, n};
  return rule.weigh(Warp{}, shared_quantiles(at, n, form), belief, sorted, noise,
                    [&](int i, const ByQuantile& g) {
                      for (int k = 0; k < 2; ++k)
                        at.by_quantile[k][i] = static_cast<float>(g.critic[k]);
                    });
}

// One step of the mean along by_action.
template <typename Rule, typename At>
__device__ void move(const Rule& rule, At& at, int actions, double m) {
  Warp{}.each(actions,
              [&](int d) { at.gradient[d] = double{at.by_action[0][d]} + at.by_action[1][d]; });
  rule.move(Warp{}, actions, at.action, at.std, m, at.gradient, at.moved);
}

// One ascent of the mean from the quantiles in `at`, by a block: one step for each sample of the
// rule, which the first warp evaluates. All threads call differentiate(), which computes by_action
// from by_quantile and ends with a barrier. Ends with a barrier. Returns m to the first warp.
template <typename Rule, typename At, typename Differentiate>
__device__ double take_steps(const Rule& rule, At& at, int n, int actions,
                             const UncertaintyForm& form, const double* noises,
                             Differentiate&& differentiate) {
  const bool leads = threadIdx.x < 32;
  typename Rule::Belief belief{};
  if (leads) belief = believe(rule, at, n, form);
  const int samples = max(rule.samples, 1);
  double m_sum = 0;
  for (int sample = 0; sample < samples; ++sample) {
    double m = 0;
    if (leads) m = weigh(rule, at, n, form, belief, rule.samples > 0 ? noises[sample] : 0);
    m_sum += m;
    __syncthreads();
    differentiate();
    if (leads) move(rule, at, actions, m);
    __syncthreads();
  }
  return m_sum / samples;
}

}  // namespace ovde::cuda
