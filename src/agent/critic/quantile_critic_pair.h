// The two critics with fixed fractions at one (s, a).
#pragma once

#include <array>
#include <vector>

#include "agent/critic/critic_pair.h"
#include "nn/single.h"

namespace ovde {

class QuantileCriticPair final : public CriticPair {
 public:
  QuantileCriticPair(const MlpShape& shape, int observation_size);

  void load(std::span<const float> first, std::span<const float> second) override;
  const QuantilePair& quantiles(std::span<const float> observation, std::span<const float> action,
                                Random& random) override;
  void action_gradient(const QuantilePair& quantile_gradient, std::span<double> gradient) override;

 private:
  int observation_size_;
  std::array<SinglePass, 2> pass_;
  QuantilePair quantiles_;
  struct Gradients {
    std::vector<float> output, input;
  };
  std::array<Gradients, 2> gradients_;
};

}  // namespace ovde
