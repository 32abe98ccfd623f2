#include "agent/critic/quantile_critic_pair.h"

#include <algorithm>

namespace ovde {

QuantileCriticPair::QuantileCriticPair(const MlpShape& shape, int observation_size)
    : observation_size_(observation_size),
      pass_{SinglePass(shape), SinglePass(shape)},
      quantiles_(shape.outputs()) {
  for (Gradients& gradients : gradients_) {
    gradients.output.resize(shape.outputs());
    gradients.input.resize(shape.inputs() - observation_size);
  }
}

void QuantileCriticPair::load(std::span<const float> first, std::span<const float> second) {
  pass_[0].load(first);
  pass_[1].load(second);
}

const QuantilePair& QuantileCriticPair::quantiles(std::span<const float> observation,
                                                  std::span<const float> action, Random&) {
  for_each_critic([&](int k) {
    const auto input = pass_[k].input();
    std::ranges::copy(observation, input.begin());
    std::ranges::copy(action, input.begin() + observation_size_);
    std::ranges::copy(pass_[k].forward(), quantiles_.critic[k].begin());
  });
  check_finite(quantiles_);
  return quantiles_;
}

void QuantileCriticPair::action_gradient(const QuantilePair& quantile_gradient,
                                         std::span<double> gradient) {
  for_each_critic([&](int k) {
    std::ranges::transform(quantile_gradient.critic[k], gradients_[k].output.begin(),
                           [](double x) { return static_cast<float>(x); });
    pass_[k].backward(gradients_[k].output, observation_size_, gradients_[k].input);
  });
  for (std::size_t d = 0; d < gradient.size(); ++d) {
    gradient[d] = double{gradients_[0].input[d]} + gradients_[1].input[d];
  }
}

}  // namespace ovde
