// Makes the networks of a learner, with their first parameters.
#pragma once

#include <memory>

#include "agent/learning.h"
#include "nn/network.h"

namespace ovde {

// The actor's network (observations to outputs). `second`: see NetworkUse.
std::unique_ptr<Network> make_actor_network(const LearnerOptions& options, int outputs,
                                            NetworkUse::Second second);

// The network of critic number k (observation above action to outputs), which may run on one thread
// while the other critic's runs on another.
std::unique_ptr<Network> make_critic_network(const LearnerOptions& options, int outputs, int k);

// The critics' network as in acting.
MlpShape critic_acting_shape(const LearnerOptions& options, int outputs);

}  // namespace ovde
