// The actor network at one observation: its Gaussian before the squash, or its mean alone where the
// policy is deterministic and the network has no more outputs than actions.
#pragma once

#include <span>

#include "agent/explore/explorer.h"
#include "nn/single.h"

namespace ovde {

class PolicyPass {
 public:
  PolicyPass(const MlpShape& actor_shape, int actions) : pass_(actor_shape), actions_(actions) {}

  // Takes over the actor's parameters; call it again when they have changed.
  void load(std::span<const float> parameters) { pass_.load(parameters); }

  int observation_size() const { return pass_.inputs(); }
  int action_size() const { return actions_; }

  // The standard deviation stays as it is where the policy has none of its own.
  void head(std::span<const double> observation, ActorHead& head);

  // tanh(mean): how a trained policy acts.
  void act(std::span<const double> observation, std::span<double> action);

 private:
  std::span<const float> forward(std::span<const double> observation);

  SinglePass pass_;
  int actions_;
};

}  // namespace ovde
