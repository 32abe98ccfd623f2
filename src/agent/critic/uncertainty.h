// The two uncertainties of a pair of quantile critics at one (s, a) and their derivatives with
// respect to the quantiles (appendix "The formulation of uncertainties"), for CPU and GPU. `Lanes`
// are one or more threads (base/lanes.h). `Quantiles` give access to both critics' quantiles:
// size(), value(critic, i), weight(i), the weight in a mean, N in all, and form().
#pragma once

#include <cmath>

#include <ovde/uncertainty.h>
#include "base/lanes.h"

namespace ovde {

// Lower bounds of the uncertainties where they divide.
inline constexpr double kEpistemicFloor = 1e-8;
inline constexpr double kAleatoricFloor = 1e-6;

OVDE_BOTH inline double at_least(double x, double floor) { return x < floor ? floor : x; }

// Q_1 - Q_2: each the mean of its critic's quantiles.
template <typename Lanes, typename Quantiles>
OVDE_BOTH double mean_difference(const Lanes& lanes, const Quantiles& z) {
  return lanes.sum(z.size(), [&](int i) { return z.weight(i) * (z.value(0, i) - z.value(1, i)); }) /
         z.size();
}

// The divisor of the aleatoric variance.
OVDE_BOTH inline int variance_divisor(const UncertaintyForm& form, int n) {
  return form.variance == VarianceForm::unbiased && n > 1 ? n - 1 : n;
}

template <typename Lanes, typename Quantiles>
OVDE_BOTH Uncertainty uncertainty(const Lanes& lanes, const Quantiles& z) {
  const int n = z.size();
  const UncertaintyForm form = z.form();
  const auto middle = [&](int i) { return (z.value(0, i) + z.value(1, i)) / 2; };
  const double mean = lanes.sum(n, [&](int i) { return z.weight(i) * middle(i); }) / n;
  const double disagreement = lanes.sum(n, [&](int i) {
    const double difference = (z.value(0, i) - z.value(1, i)) / 2;
    return z.weight(i) * difference * difference;
  });
  const double spread = lanes.sum(n, [&](int i) {
    const double deviation = middle(i) - mean;
    return z.weight(i) * deviation * deviation;
  });
  Uncertainty u = {mean, std::sqrt(disagreement / n),
                   std::sqrt(spread / variance_divisor(form, n))};
  if (form.epistemic == EpistemicForm::means) {
    u.difference = mean_difference(lanes, z);
    u.epistemic = std::fabs(u.difference) / 2;
  }
  return u;
}

// Means over a batch, at the policy's own actions.
struct ValueReport {
  double mean = 0, epistemic = 0, aleatoric = 0;
};

// A derivative by one quantile of each critic.
struct ByQuantile {
  double critic[2];
};

// by_mean * d mean/dz + by_epistemic * d epistemic/dz + by_aleatoric * d aleatoric/dz.
struct UncertaintyGradient {
  OVDE_BOTH UncertaintyGradient(const Uncertainty& u, int n, const UncertaintyForm& form,
                                double by_mean, double by_epistemic, double by_aleatoric)
      : expected(u.mean),
        mean(by_mean / (2 * n)),
        aleatoric(by_aleatoric /
                  (2 * variance_divisor(form, n) * at_least(u.aleatoric, kAleatoricFloor))) {
    if (form.epistemic == EpistemicForm::quantiles) {
      epistemic = by_epistemic / (4 * n * at_least(u.epistemic, kEpistemicFloor));
    } else if (u.difference != 0) {
      apart = (u.difference > 0 ? by_epistemic : -by_epistemic) / (2 * n);
    }
  }

  template <typename Quantiles>
  OVDE_BOTH ByQuantile at(const Quantiles& z, int i) const {
    const double difference = z.value(0, i) - z.value(1, i);
    const double deviation = (z.value(0, i) + z.value(1, i)) / 2 - expected;
    const double shared = mean + aleatoric * deviation;
    return {{z.weight(i) * (shared + epistemic * difference + apart),
             z.weight(i) * (shared - epistemic * difference - apart)}};
  }

  double expected, mean, aleatoric;
  double epistemic = 0, apart = 0;  // factors of the difference at a quantile, of the means
};

}  // namespace ovde
