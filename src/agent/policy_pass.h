// The actor network at one observation: its Gaussian before the squash.
#pragma once

#include <span>

#include "agent/explore/explorer.h"
#include "nn/single.h"

namespace ovde {

class PolicyPass {
 public:
  explicit PolicyPass(const MlpShape& actor_shape) : pass_(actor_shape) {}

  // Takes over the actor's parameters; call it again when they have changed.
  void load(std::span<const float> parameters) { pass_.load(parameters); }

  int observation_size() const { return pass_.inputs(); }
  int action_size() const { return pass_.outputs() / 2; }

  void head(std::span<const double> observation, ActorHead& head);

  // tanh(mean): how a trained policy acts.
  void act(std::span<const double> observation, std::span<double> action);

 private:
  std::span<const float> forward(std::span<const double> observation);

  SinglePass pass_;
};

}  // namespace ovde
