// How an agent over a grid of actions explores: which of them to try, given what both critics
// believe of each. The one rule today is information-directed sampling (ids.cpp); agent.cpp
// chooses.
#pragma once

#include <memory>

#include <ovde/random.h>
#include "agent/agent.h"

namespace ovde {

class DiscreteRule {
 public:
  virtual ~DiscreteRule() = default;

  // z: action after action, N quantiles each. The number of the action to try.
  virtual int choose(const QuantilePair& z, Random& random) = 0;
};

std::unique_ptr<DiscreteRule> make_ids_rule(const IdsOptions& options, int actions, int quantiles);

}  // namespace ovde
