#pragma once

#include <cmath>
#include <span>
#include <vector>

namespace ovde {

// Mean and variance of vectors that come one at a time (Welford's method), in double precision.
class RunningMoments {
 public:
  explicit RunningMoments(int size) : size_(size), values_(1 + 2 * size) {}

  template <typename T>
  void add(std::span<const T> x) {
    const double count = ++values_[0];
    for (int i = 0; i < size_; ++i) {
      double &mean = values_[1 + i], &squares = values_[1 + size_ + i];
      const double deviation = x[i] - mean;
      mean += deviation / count;
      squares += deviation * (x[i] - mean);
    }
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
