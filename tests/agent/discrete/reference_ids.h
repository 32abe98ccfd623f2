// The choice of information-directed sampling in double precision.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "agent/critic/reference_critics.h"

namespace ovde::reference {

// Table [critic][action][quantile] -> the action with the smallest regret^2 / information, by the
// words of docs/baselines.md.
using Table = std::array<std::vector<Vec>, 2>;

inline int plain_choice(const Table& z, double lambda) {
  const std::size_t actions = z[0].size();
  Vec mean(actions), spread(actions), variance(actions), upper(actions);
  for (std::size_t a = 0; a < actions; ++a) {
    const Vec q = {reference::mean(z[0][a]), reference::mean(z[1][a])};
    mean[a] = reference::mean(q);
    spread[a] =
        std::sqrt(reference::mean({std::pow(q[0] - mean[a], 2), std::pow(q[1] - mean[a], 2)}));
    Vec squares;
    for (std::size_t i = 0; i < z[0][a].size(); ++i)
      squares.push_back(std::pow((z[0][a][i] + z[1][a][i]) / 2, 2));
    variance[a] = reference::mean(squares) - mean[a] * mean[a];
    upper[a] = mean[a] + lambda * spread[a];
  }
  Vec ratio;
  for (std::size_t a = 0; a < actions; ++a) {
    const double regret = *std::ranges::max_element(upper) - (mean[a] - lambda * spread[a]);
    const double normalised = std::max(variance[a] / (reference::mean(variance) + 1e-5), 0.25);
    const double information = std::log(1 + spread[a] * spread[a] / normalised) + 1e-5;
    ratio.push_back(regret * regret / information);
  }
  return static_cast<int>(std::ranges::min_element(ratio) - ratio.begin());
}

}  // namespace ovde::reference
