#include "agent/actor.h"

#include "agent/gaussian_actor.h"

namespace ovde {

std::unique_ptr<Actor> make_actor(const LearnerOptions& options) {
  return std::make_unique<GaussianActor>(options);
}

}  // namespace ovde
