// Which implementation belongs to a learner's options.
#include "agent/critic/critic.h"

#include "agent/critic/critic_pair.h"
#include "agent/critic/iqn_critic.h"
#include "agent/critic/iqn_critic_pair.h"
#include "agent/critic/quantile_critic.h"
#include "agent/critic/quantile_critic_pair.h"

namespace ovde {

std::unique_ptr<Critic> make_critic(const LearnerOptions& options, int k) {
  if (options.head == CriticHead::iqn) return std::make_unique<IqnCritic>(options, k);
  return std::make_unique<QuantileCritic>(options, k);
}

std::unique_ptr<CriticPair> make_critic_pair(const LearnerOptions& options) {
  if (options.head == CriticHead::iqn) {
    return std::make_unique<IqnCriticPair>(iqn_critic_shape(options), options.observation_size,
                                           options.quantiles);
  }
  return std::make_unique<QuantileCriticPair>(quantile_critic_shape(options),
                                              options.observation_size);
}

}  // namespace ovde
