// Kolmogorov-Smirnov test of a sample against a continuous distribution.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace ovde {

inline double normal_cdf(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

// Probability of a larger distance between the sample and `cdf`, if the sample is from it
// (asymptotic; for thousands).
template <typename Cdf>
double kolmogorov_smirnov(std::vector<double> sample, Cdf cdf) {
  std::ranges::sort(sample);
  const double n = static_cast<double>(sample.size());
  double distance = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double f = cdf(sample[i]);
    distance = std::max({distance, f - i / n, (i + 1) / n - f});
  }
  const double lambda = distance * std::sqrt(n);
  double p = 0;
  for (int k = 1; k <= 100; ++k) {
    p += (k % 2 == 1 ? 2 : -2) * std::exp(-2 * k * k * lambda * lambda);
  }
  return lambda < 0.2 ? 1 : std::clamp(p, 0.0, 1.0);
}

}  // namespace ovde
