// The actor network at one observation: its Gaussian before the squash. Reads parameters, owns none.
#pragma once

#include <span>

#include "agent/explore/explorer.h"
#include "nn/single.h"

namespace ovde {

class PolicyPass {
 public:
  explicit PolicyPass(const MlpShape& actor_shape) : pass_(actor_shape), actions_(actor_shape.outputs() / 2) {}

  int observation_size() { return static_cast<int>(pass_.input().size()); }
  int action_size() const { return actions_; }

  void head(std::span<const float> parameters, std::span<const double> observation, ActorHead& head);

  // tanh(mean): how a trained policy acts.
  void act(std::span<const float> parameters, std::span<const double> observation, std::span<double> action);

 private:
  std::span<const float> forward(std::span<const float> parameters, std::span<const double> observation);

  SinglePass pass_;
  int actions_;
};

}  // namespace ovde
