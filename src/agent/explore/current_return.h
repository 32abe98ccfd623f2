// The distribution of the current policy's return, Z^pi, which OVD-Explorer compares its optimistic
// value with: the CDF of each of its models, for CPU and GPU.
#pragma once

#include "agent/critic/uncertainty.h"

namespace ovde {

// Gaussian with pessimistic mean (Eq. 13), quantiles of the pessimistic critic (Eq. 14), or
// Gaussian with the expected mean ("OVDE(m)", Table 2).
enum class CurrentReturn { gaussian, quantiles, mean };

// d tanh(u) / du at the action tanh(u).
OVDE_BOTH inline double squash_slope(float action) { return 1 - double{action} * action; }

OVDE_BOTH inline double normal_cdf(double t) { return 0.5 * std::erfc(-t / std::sqrt(2.0)); }

// N(center, spread), the center beta epistemic deviations below the mean (Eq. 13).
struct GaussianReturn {
  OVDE_BOTH GaussianReturn(const Uncertainty& u, double beta)
      : center(std::fma(-beta, u.epistemic, u.mean)),
        spread(at_least(u.aleatoric, kAleatoricFloor)) {}
  OVDE_BOTH double standardised(double x) const { return (x - center) / spread; }
  OVDE_BOTH double cdf(double x) const { return normal_cdf(standardised(x)); }
  double center, spread;
};

// The N values min_k z_ki in increasing order, whose CDF is joined by straight lines through
// (value, sum of the weights up to the middle of its own / N) (Eq. 14). The caller sorts them.
struct SortedReturn {
  const double *value, *position;  // position: N times the CDF there
  const int* owner;                // 2 i + critic, for quantile i of a critic
  int n;

  // The CDF is flat outside the values: below the lowest it is that of the lowest, above it is 1.
  OVDE_BOTH bool flat(double x) const { return x > value[n - 1] || !(x > value[0]); }
  // Index of the first value that is not below x.
  OVDE_BOTH int first_not_below(double x) const {
    int low = 0, high = n;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (value[middle] < x) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }
  OVDE_BOTH double cdf(double x) const {
    if (x > value[n - 1]) return 1;
    if (!(x > value[0])) return position[0] / n;
    const int above = first_not_below(x), below = above - 1;
    const double share = (x - value[below]) / (value[above] - value[below]);
    return (position[below] + share * (position[above] - position[below])) / n;
  }
};

}  // namespace ovde
