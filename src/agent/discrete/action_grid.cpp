#include "agent/discrete/action_grid.h"

#include <algorithm>
#include <cmath>

namespace ovde {

ActionGrid::ActionGrid(int dimensions, int bins)
    : dimensions_(dimensions), bins_(bins), actions_(count(dimensions, bins)) {}

int ActionGrid::count(int dimensions, int bins) {
  std::int64_t actions = 1;
  for (int d = 0; d < dimensions && actions <= most(); ++d) actions *= bins;
  return static_cast<int>(std::min<std::int64_t>(actions, most() + 1));
}

int ActionGrid::fitting_bins(int dimensions, int actions) {
  int bins = 1;
  while (bins < actions && count(dimensions, bins + 1) <= actions) ++bins;
  return bins;
}

int ActionGrid::standard_bins(int dimensions, int actions) {
  return std::clamp(fitting_bins(dimensions, actions), 2, 5);
}

void ActionGrid::action(int number, std::span<double> out) const {
  for (double& x : out) {
    x = 2.0 * (number % bins_) / (bins_ - 1) - 1;
    number /= bins_;
  }
}

int ActionGrid::nearest(std::span<const float> action) const {
  int number = 0;
  for (int d = dimensions_ - 1; d >= 0; --d) {
    const double bin = std::round((action[d] + 1) / 2 * (bins_ - 1));
    number = number * bins_ + static_cast<int>(std::clamp(bin, 0.0, bins_ - 1.0));
  }
  return number;
}

}  // namespace ovde
