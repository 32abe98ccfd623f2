// The two critics with random fractions at one (s, a): every call draws one set of fractions for
// both.
#pragma once

#include <array>

#include "agent/critic/critic_pair.h"
#include "agent/critic/fractions.h"
#include "nn/iqn.h"

namespace ovde {

class IqnCriticPair final : public CriticPair {
 public:
  IqnCriticPair(const IqnShape& shape, int observation_size, int quantiles);

  void load(std::span<const float> first, std::span<const float> second) override;
  const QuantilePair& quantiles(std::span<const float> observation, std::span<const float> action,
                                Random& random) override;
  void action_gradient(const QuantilePair& quantile_gradient, std::span<double> gradient) override;

 private:
  // A critic asked at one (s, a): every lane of its one block holds that input, and each lane of
  // each of its rows of fractions one fraction.
  struct Side {
    Iqn net;
    Buffer parameters;
    IqnActivations activations;
    IqnDeltas deltas;
    Batch values, value_gradient;  // (rows x kLanes)
    Batch input_gradient;          // (actions x kLanes)
  };

  int observation_size_;
  Fractions fractions_;     // (N x 1)
  Batch input_, midpoint_;  // (inputs x kLanes), (rows x kLanes)
  std::array<Side, 2> side_;
  QuantilePair quantiles_;
};

}  // namespace ovde
