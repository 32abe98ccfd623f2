#include "agent/ids/greedy_pass.h"

#include <algorithm>

#include "agent/ids/action_head.h"

namespace ovde {

namespace {

MlpShape mean_shape(const MlpShape& critic, int actions) {
  std::vector<int> hidden;
  for (int l = 0; l + 1 < critic.layers(); ++l) hidden.push_back(critic.layer(l).outputs);
  return {critic.inputs(), hidden, actions};
}

}  // namespace

GreedyPass::GreedyPass(const MlpShape& critic_shape, const ActionGrid& grid, int quantiles)
    : critic_shape_(critic_shape),
      mean_shape_(mean_shape(critic_shape, grid.actions())),
      grid_(grid),
      quantiles_(quantiles),
      mean_parameters_(mean_shape_.size()),
      pass_{SinglePass(mean_shape_), SinglePass(mean_shape_)} {}

void GreedyPass::load(std::span<const float> first, std::span<const float> second) {
  const auto& last = mean_shape_.layer(mean_shape_.layers() - 1);
  for (int k = 0; k < 2; ++k) {
    // the layers below lie in the same places of both buffers
    const auto parameters = k == 0 ? first : second;
    std::copy_n(parameters.begin(), last.weights, mean_parameters_.begin());
    mean_layer(critic_shape_, parameters, quantiles_, mean_parameters_.data() + last.weights,
               mean_parameters_.data() + last.bias);
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
