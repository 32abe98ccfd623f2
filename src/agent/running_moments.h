// Mean and variance of vectors that come one at a time (Welford's method), in double precision.
#pragma once

#include <cmath>
#include <span>
#include <vector>

namespace ovde {

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
  // With divisor n; 0 before anything was added.
  double standard_deviation(int i) const {
    return values_[0] > 0 ? std::sqrt(values_[1 + size_ + i] / values_[0]) : 0;
  }

  // All there is to save: the count, the means and the sums of squared deviations.
  std::span<double> state() { return values_; }

 private:
  int size_;
  std::vector<double> values_;
};

}  // namespace ovde
