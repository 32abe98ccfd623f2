// The greedy policy of two Q-networks over a grid of actions, at one observation: the action whose
// mean over quantiles and critics is largest.
#pragma once

#include <array>
#include <span>

#include "agent/discrete/action_grid.h"
#include "nn/single.h"

namespace ovde {

class GreedyPass {
 public:
  // critic_shape: grid.actions() times `quantiles` outputs.
  GreedyPass(const MlpShape& critic_shape, const ActionGrid& grid, int quantiles);

  // Takes over the critics' parameters; call it again when they have changed.
  void load(std::span<const float> first, std::span<const float> second);

  int observation_size() const { return critic_shape_.inputs(); }
  int action_size() const { return grid_.dimensions(); }

  // Of equally good actions the first.
  void act(std::span<const double> observation, std::span<double> action);

 private:
  MlpShape critic_shape_, mean_shape_;  // the latter puts out the mean of each action's quantiles
  ActionGrid grid_;
  Buffer mean_parameters_;
  std::array<SinglePass, 2> pass_;
};

}  // namespace ovde
