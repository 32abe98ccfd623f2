// The two critics as acting sees them: quantiles at one (s, a), and gradients of functions of these
// with respect to the action.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "agent/uncertainty.h"
#include "nn/single.h"

namespace ovde {

class CriticPair {
 public:
  // `parameters` are read at every call and must outlive this.
  CriticPair(const MlpShape& shape, int observation_size,
             std::array<std::span<const float>, 2> parameters);

  // Evaluates both critics; the result stays valid until the next call.
  const QuantilePair& quantiles(std::span<const float> observation, std::span<const float> action);

  // d f / d action at the (s, a) of the last quantiles(), given d f / d z.
  void action_gradient(const QuantilePair& quantile_gradient, std::span<double> gradient);

 private:
  int observation_size_;
  std::array<std::span<const float>, 2> parameters_;
  std::array<SinglePass, 2> pass_;
  QuantilePair quantiles_;
  std::vector<float> output_gradient_, input_gradient_;
};

}  // namespace ovde
