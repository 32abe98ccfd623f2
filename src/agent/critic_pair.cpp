#include "agent/critic_pair.h"

#include <algorithm>
#include <cmath>

#include <ovde/error.h>

namespace ovde {

CriticPair::CriticPair(const MlpShape& shape, int observation_size,
                       std::array<std::span<const float>, 2> parameters)
    : observation_size_(observation_size),
      parameters_(parameters),
      pass_{SinglePass(shape), SinglePass(shape)},
      quantiles_(shape.outputs()),
      output_gradient_(shape.outputs()),
      input_gradient_(shape.inputs() - observation_size) {}

const QuantilePair& CriticPair::quantiles(std::span<const float> observation,
                                          std::span<const float> action) {
  for (int k = 0; k < 2; ++k) {
    const auto input = pass_[k].input();
    std::ranges::copy(observation, input.begin());
    std::ranges::copy(action, input.begin() + observation_size_);
    std::ranges::copy(pass_[k].forward(parameters_[k]), quantiles_.critic[k].begin());
    for (const double z : quantiles_.critic[k]) {
      if (!std::isfinite(z))
        throw Error(k == 0 ? "the first critic's value is not finite"
                           : "the second critic's value is not finite");
    }
  }
  return quantiles_;
}

void CriticPair::action_gradient(const QuantilePair& quantile_gradient,
                                 std::span<double> gradient) {
  std::ranges::fill(gradient, 0.0);
  for (int k = 0; k < 2; ++k) {
    std::ranges::transform(quantile_gradient.critic[k], output_gradient_.begin(),
                           [](double x) { return static_cast<float>(x); });
    pass_[k].backward(parameters_[k], output_gradient_, observation_size_, input_gradient_);
    for (std::size_t d = 0; d < gradient.size(); ++d) gradient[d] += input_gradient_[d];
  }
}

}  // namespace ovde
