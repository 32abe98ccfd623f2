// Optimistic actor-critic (Ciosek et al., 2019) and, with quantile critics, DOAC, for CPU and GPU:
// the policy's mean moved up the gradient of an upper bound of the value, by a step of fixed length
// in the policy's own metric.
#pragma once

#include <limits>

#include "agent/explore/current_return.h"

namespace ovde {

inline constexpr double kNoWeight = std::numeric_limits<double>::quiet_NaN();

struct OacRule {
  static constexpr int samples = 0, ascents = 1;
  double beta = 4.66;
  double delta = 23.53;  // bound on the divergence between behaviour and policy

  OVDE_BOTH bool sorts() const { return false; }

  struct Belief {
    double sign;  // the sign of Q_1 - Q_2
  };
  template <typename Lanes, typename Quantiles>
  OVDE_BOTH Belief believe(const Lanes& lanes, const Quantiles& z) const {
    const double difference = mean_difference(lanes, z);
    return {difference > 0 ? 1.0 : difference < 0 ? -1.0 : 0.0};
  }

  // Q_UB = mean + beta |Q_1 - Q_2| / 2, differentiated by quantile i of each critic.
  template <typename Lanes, typename Quantiles, typename Take>
  OVDE_BOTH double weigh(const Lanes& lanes, const Quantiles& z, const Belief& belief,
                         const SortedReturn&, double, const Take& take) const {
    const int n = z.size();
    lanes.each(n, [&](int i) {
      take(i, ByQuantile{{z.weight(i) * (1 + beta * belief.sign) / (2 * n),
                          z.weight(i) * (1 - beta * belief.sign) / (2 * n)}});
    });
    return kNoWeight;
  }

  // mu_E = mu + sqrt(2 delta) Sigma g / sqrt(g' Sigma g), whose divergence from mu is delta
  template <typename Lanes>
  OVDE_BOTH void move(const Lanes& lanes, int actions, const float* action, const double* std,
                      double, double* g, double* mean) const {
    lanes.each(actions, [&](int d) { g[d] *= squash_slope(action[d]); });
    const double squares = lanes.sum(actions, [&](int d) {
      const double scaled = std[d] * g[d];
      return scaled * scaled;
    });
    const double step = std::sqrt(2 * delta), length = std::sqrt(squares) + 1e-5;
    lanes.each(actions, [&](int d) { mean[d] += step * (std[d] * std[d]) * g[d] / length; });
  }
};

}  // namespace ovde
