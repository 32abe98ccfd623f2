// Rewards scaled by running returns (train.scale_rewards): a reward is divided by the larger of two
// numbers: the standard deviation of the discounted returns so far, and a fifth of the largest of
// them. Scaled returns are then seldom larger than 5.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "agent/equations.h"

namespace ovde {

class RewardScale {
 public:
  explicit RewardScale(double discount, int environments = 1)
      : discount_(discount), more_returns_(environments - 1) {}

  // A step of an episode: the discounted return so far is  G <- discount G + reward.
  void add(double reward, int environment = 0) {
    auto& [first, largest, count, mean, squares] = state_;
    double& sum = return_of(environment);
    sum = discount_ * sum + reward;
    largest = std::max(largest, std::abs(sum));
    add_to_moments(mean, squares, ++count, sum);
  }
  void end_episode(int environment = 0) { return_of(environment) = 0; }

  // The factor of the rewards; 1 before the first step.
  double factor() const {
    constexpr double kLargest = 5, kEpsilon = 1e-8;
    const auto& [first, largest, count, mean, squares] = state_;
    if (count == 0) return 1;
    return 1 / std::max(std::sqrt(squares / count + kEpsilon), largest / kLargest);
  }

  // For saving: the return so far of the first environment, the largest return, and count, mean and
  // squared deviations of all; and the returns so far of the other environments.
  std::span<double> state() { return state_; }
  std::span<double> returns() { return more_returns_; }

 private:
  double& return_of(int environment) {
    return environment == 0 ? state_[0] : more_returns_[environment - 1];
  }

  double discount_;
  std::array<double, 5> state_ = {};
  std::vector<double> more_returns_;
};

}  // namespace ovde
