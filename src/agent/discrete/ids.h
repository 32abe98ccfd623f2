// The equations of information-directed sampling (Nikolov et al., 2019), for CPU and GPU: the
// expected regret of an action against the information that trying it would give.
#pragma once

#include <cmath>

#include "base/lanes.h"

namespace ovde {

// Both critics' estimate of one action.
struct IdsArm {
  double mean;      // over quantiles and critics
  double spread;    // standard deviation of the critics' means
  double variance;  // variance of the return
};

struct IdsRule {
  static constexpr double kVarianceFloor = 0.25;  // lower bound of the normalised variance
  static constexpr double kMeanVarianceFloor = 1e-5, kInformationFloor = 1e-5;

  double lambda;  // width of the confidence bounds

  OVDE_BOTH double upper_bound(const IdsArm& arm) const { return arm.mean + lambda * arm.spread; }

  // regret^2 / information, given the largest upper bound and the mean variance of all actions.
  OVDE_BOTH double ratio(const IdsArm& arm, double best_bound, double mean_variance) const {
    const double regret = best_bound - (arm.mean - lambda * arm.spread);
    const double scaled = arm.variance / (mean_variance + kMeanVarianceFloor);
    const double normalised = scaled < kVarianceFloor ? kVarianceFloor : scaled;
    const double information = std::log1p(arm.spread * arm.spread / normalised) + kInformationFloor;
    return regret * regret / information;
  }
};

}  // namespace ovde
