#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "base/lanes.h"

namespace ovde {

// Welford's method: number `count` (from 1) goes into a mean and a sum of squared deviations.
OVDE_BOTH inline void add_to_moments(double& mean, double& squares, double count, double x) {
  const double deviation = x - mean;
  mean += deviation / count;
  squares += deviation * (x - mean);
}

// Mean and variance of vectors that come one at a time (Welford's method), in double precision.
class RunningMoments {
 public:
  explicit RunningMoments(int size) : size_(size), values_(1 + 2 * size) {}

  template <typename T>
  void add(std::span<const T> x) {
    const double count = ++values_[0];
    for (int i = 0; i < size_; ++i)
      add_to_moments(values_[1 + i], values_[1 + size_ + i], count, x[i]);
  }

  double mean(int i) const { return values_[1 + i]; }
  // Of the values themselves, with divisor n; 0 before anything was added.
  double standard_deviation(int i) const { return deviation(i, values_[0]); }
  // Of what they were drawn from, with divisor n - 1; 0 for fewer than two.
  double sample_deviation(int i) const { return deviation(i, values_[0] - 1); }

  // All there is to save: the count, the means and the sums of squared deviations.
  std::span<double> state() { return values_; }

 private:
  double deviation(int i, double divisor) const {
    return divisor > 0 ? std::sqrt(values_[1 + size_ + i] / divisor) : 0;
  }

  int size_;
  std::vector<double> values_;
};

}  // namespace ovde
