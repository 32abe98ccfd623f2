// The two critics as acting sees them: quantiles at one (s, a), and gradients of functions of these
// with respect to the action.
#pragma once

#include <memory>
#include <span>

#include "agent/learner_options.h"
#include "agent/uncertainty.h"
#include "math/team.h"

namespace ovde {

class CriticPair {
 public:
  virtual ~CriticPair() = default;

  // The team that evaluates the two critics side by side from now on; null:
  // one after the other.
  virtual void use(Team* team) = 0;

  // Takes over the critics' parameters; call it again when they have changed.
  virtual void load(std::span<const float> first, std::span<const float> second) = 0;

  // Evaluates both critics; the result stays valid until the next call.
  virtual const QuantilePair& quantiles(std::span<const float> observation,
                                        std::span<const float> action) = 0;

  // d f / d action at the (s, a) of the last quantiles(), given d f / d z.
  virtual void action_gradient(const QuantilePair& quantile_gradient,
                               std::span<double> gradient) = 0;
};

// For the critics that make_critic() gives a learner with these options.
std::unique_ptr<CriticPair> make_critic_pair(const LearnerOptions& options);

}  // namespace ovde
