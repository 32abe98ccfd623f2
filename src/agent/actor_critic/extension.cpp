#include "agent/actor_critic/extension.h"

#include "agent/actor_critic/bonus.h"
#include "agent/actor_critic/optimist.h"
#include "agent/actor_critic/truncation.h"

namespace ovde {

// Their state is saved in this order.
Extensions::Extensions(const LearnerOptions& options, Actor& actor, CriticArray& critics) {
  if (options.critic.dropped > 0) all_.push_back(std::make_unique<Truncation>(options));
  if (options.optimist) all_.push_back(std::make_unique<Optimist>(options, actor, critics));
  if (options.rnd.bonus != Bonus::none) all_.push_back(std::make_unique<Rnd>(options));
}

std::span<const float> Extensions::exploring_actor() const {
  for (const auto& each : all_) {
    if (const auto parameters = each->exploring_actor(); !parameters.empty()) return parameters;
  }
  return {};
}

double Extensions::flop_per_update() const {
  double sum = 0;
  for (const auto& each : all_) sum += each->flop_per_update();
  return sum;
}

}  // namespace ovde
