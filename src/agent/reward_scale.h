// Rewards scaled by running returns (train.scale_rewards): a reward is divided by the larger of two
// numbers: the standard deviation of the discounted returns so far, and a fifth of the largest of
// them. Scaled returns are then seldom larger than 5.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "agent/equations.h"

namespace ovde {

class RewardScale {
 public:
  explicit RewardScale(double discount) : discount_(discount) {}

  // A step of an episode: the discounted return so far is  G <- discount G + reward.
  void add(double reward) {
    auto& [sum, largest, count, mean, squares] = state_;
    sum = discount_ * sum + reward;
    largest = std::max(largest, std::abs(sum));
    add_to_moments(mean, squares, ++count, sum);
  }
  void end_episode() { state_[0] = 0; }

  // The factor of the rewards; 1 before the first step.
  double factor() const {
    constexpr double kLargest = 5, kEpsilon = 1e-8;
    const auto& [sum, largest, count, mean, squares] = state_;
    if (count == 0) return 1;
    return 1 / std::max(std::sqrt(squares / count + kEpsilon), largest / kLargest);
  }

  // For saving: the return so far, the largest one, and count, mean and squared deviations of all.
  std::span<double> state() { return state_; }

 private:
  double discount_;
  std::array<double, 5> state_ = {};
};

}  // namespace ovde
