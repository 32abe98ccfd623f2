#include "agent/critic/critic.h"

#include <cmath>

#include <fmt/format.h>

#include <ovde/error.h>
#include "agent/critic/iqn_critic.h"
#include "agent/critic/quantile_critic.h"

namespace ovde {

void CriticPair::check_finite(const QuantilePair& quantiles) {
  for (int k = 0; k < 2; ++k) {
    for (const double z : quantiles.critic[k]) {
      if (!std::isfinite(z)) throw Error(fmt::format("a value of critic {} is {}", k + 1, z));
    }
  }
}

std::unique_ptr<Critic> make_critic(const LearnerOptions& options, int k) {
  switch (options.critic.head) {
    case CriticHead::qr:
      return std::make_unique<QuantileCritic>(options, k);
    case CriticHead::iqn:
    case CriticHead::embedded:
      return std::make_unique<IqnCritic>(options, k);
  }
  throw Error("no such critic head");
}

std::unique_ptr<CriticPair> make_critic_pair(const LearnerOptions& options) {
  switch (options.critic.head) {
    case CriticHead::qr:
      return std::make_unique<QuantileCriticPair>(
          quantile_critic_shape(options), options.observation_size, options.critic.uncertainty);
    case CriticHead::iqn:
    case CriticHead::embedded:
      return std::make_unique<IqnCriticPair>(options);
  }
  throw Error("no such critic head");
}

}  // namespace ovde
