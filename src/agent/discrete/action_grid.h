// A grid of discrete actions: all combinations of `bins` evenly spaced values from -1 to 1 for each
// dimension, numbered with the first dimension running fastest.
#pragma once

#include <cstdint>
#include <span>

namespace ovde {

class ActionGrid {
 public:
  // At least two bins, and no more than most() actions.
  ActionGrid(int dimensions, int bins);

  int dimensions() const { return dimensions_; }
  int bins() const { return bins_; }
  int actions() const { return actions_; }

  void action(int number, std::span<double> out) const;
  // The number of the action nearest to this one.
  int nearest(std::span<const float> action) const;

  static constexpr int most() { return 1 << 20; }
  // bins ^ dimensions; most() + 1 where that is larger.
  static int count(int dimensions, int bins);
  // The largest number of bins that gives at most `actions`; 1 where two give more.
  static int fitting_bins(int dimensions, int actions);
  // The default: five, or fewer where five give more than `actions`.
  static int standard_bins(int dimensions, int actions);

 private:
  int dimensions_, bins_, actions_;
};

}  // namespace ovde
