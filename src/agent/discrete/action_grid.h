// A grid of discrete actions: all combinations of `bins` evenly spaced values from -1 to 1 for each
// dimension, numbered with the first dimension running fastest.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

namespace ovde {

class ActionGrid {
 public:
  // At least two bins, and no more than most() actions.
  ActionGrid(int dimensions, int bins)
      : dimensions_(dimensions), bins_(bins), actions_(count(dimensions, bins)) {}

  int dimensions() const { return dimensions_; }
  int bins() const { return bins_; }
  int actions() const { return actions_; }

  void action(int number, std::span<double> out) const {
    for (double& x : out) {
      x = 2.0 * (number % bins_) / (bins_ - 1) - 1;
      number /= bins_;
    }
  }
  // The number of the action nearest to this one.
  int nearest(std::span<const float> action) const {
    int number = 0;
    for (int d = dimensions_ - 1; d >= 0; --d) {
      const double bin = std::round((action[d] + 1) / 2 * (bins_ - 1));
      number = number * bins_ + static_cast<int>(std::clamp(bin, 0.0, bins_ - 1.0));
    }
    return number;
  }

  static constexpr int most() { return 1 << 20; }
  // bins ^ dimensions; most() + 1 where that is larger.
  static int count(int dimensions, int bins) {
    std::int64_t actions = 1;
    for (int d = 0; d < dimensions && actions <= most(); ++d) actions *= bins;
    return static_cast<int>(std::min<std::int64_t>(actions, most() + 1));
  }
  // The largest number of bins that gives at most `actions`; 1 where two give more.
  static int fitting_bins(int dimensions, int actions) {
    int bins = 1;
    while (bins < actions && count(dimensions, bins + 1) <= actions) ++bins;
    return bins;
  }
  // The default: five, or fewer where five give more than `actions`.
  static int standard_bins(int dimensions, int actions) {
    return std::clamp(fitting_bins(dimensions, actions), 2, 5);
  }

 private:
  int dimensions_, bins_, actions_;
};

}  // namespace ovde
