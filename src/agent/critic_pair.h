// The two critics as acting sees them: quantiles at one (s, a), and gradients of functions of these
// with respect to the action.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "agent/uncertainty.h"
#include "math/team.h"
#include "nn/single.h"

namespace ovde {

class CriticPair {
 public:
  CriticPair(const MlpShape& shape, int observation_size);

  // The team that evaluates the two critics side by side from now on; null:
  // one after the other.
  void use(Team* team) { team_ = team; }

  // Takes over the critics' parameters; call it again when they have changed.
  void load(std::span<const float> first, std::span<const float> second);

  // Evaluates both critics; the result stays valid until the next call.
  const QuantilePair& quantiles(std::span<const float> observation, std::span<const float> action);

  // d f / d action at the (s, a) of the last quantiles(), given d f / d z.
  void action_gradient(const QuantilePair& quantile_gradient, std::span<double> gradient);

 private:
  template <typename Work>
  void for_each_critic(Work&& work);

  Team* team_ = nullptr;
  int observation_size_;
  std::array<SinglePass, 2> pass_;
  QuantilePair quantiles_;
  struct Gradients {
    std::vector<float> output, input;
  };
  std::array<Gradients, 2> gradients_;
};

}  // namespace ovde
