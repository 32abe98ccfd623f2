#include "agent/discrete/greedy_pass.h"

#include <algorithm>

#include "agent/discrete/action_head.h"

namespace ovde {

GreedyPass::GreedyPass(const MlpShape& critic_shape, const ActionGrid& grid, int quantiles)
    : critic_shape_(critic_shape),
      mean_shape_(mean_shape(critic_shape, quantiles)),
      grid_(grid),
      mean_parameters_(mean_shape_.size()),
      pass_{SinglePass(mean_shape_), SinglePass(mean_shape_)} {}

void GreedyPass::load(std::span<const float> first, std::span<const float> second) {
  for (int k = 0; k < 2; ++k) {
    mean_network(critic_shape_, k == 0 ? first : second, mean_shape_, mean_parameters_);
    pass_[k].load(mean_parameters_);
  }
}

void GreedyPass::act(std::span<const double> observation, std::span<double> action) {
  for (SinglePass& pass : pass_) {
    std::ranges::transform(observation, pass.input().begin(),
                           [](double x) { return static_cast<float>(x); });
  }
  const auto first = pass_[0].forward(), second = pass_[1].forward();
  int best = 0;
  for (int a = 1; a < grid_.actions(); ++a) {
    if (first[a] + second[a] > first[best] + second[best]) best = a;
  }
  grid_.action(best, action);
}

}  // namespace ovde
