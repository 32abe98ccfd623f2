#include "agent/actor_critic/learner.h"

#include "agent/actor_critic/bonus.h"
#include "agent/actor_critic/optimist.h"
#include "agent/actor_critic/truncation.h"

namespace ovde {

std::vector<std::unique_ptr<Extension>> make_extensions(const LearnerOptions& options, Actor& actor,
                                                        CriticArray& critics) {
  std::vector<std::unique_ptr<Extension>> all;
  if (options.critic.dropped > 0) all.push_back(std::make_unique<Truncation>(options));
  if (options.optimist) all.push_back(std::make_unique<Optimist>(options, actor, critics));
  if (options.rnd.bonus != Bonus::none) all.push_back(std::make_unique<Rnd>(options));
  return all;
}

}  // namespace ovde
