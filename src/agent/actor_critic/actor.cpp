#include "agent/actor_critic/actor.h"

#include "agent/actor_critic/deterministic_actor.h"
#include "agent/actor_critic/gaussian_actor.h"

namespace ovde {

std::unique_ptr<Actor> make_actor(const LearnerOptions& options) {
  switch (options.policy) {
    case PolicyKind::gaussian:
      return std::make_unique<GaussianActor>(options);
    case PolicyKind::deterministic:
      return std::make_unique<DeterministicActor>(options);
    case PolicyKind::greedy:  // has no actor
      break;
  }
  return nullptr;
}

void initialise_actor(const LearnerOptions& options, BatchNetwork& network) {
  Trained& net = network.trained();
  initialise(network.shape(), options.seed, 0, 1e-3f, net.parameters);
  net.target = net.parameters;
}

}  // namespace ovde
