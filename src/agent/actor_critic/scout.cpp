#include "agent/actor_critic/scout.h"

#include <string>

namespace ovde {

LearnerOptions own_learner(const AgentOptions& options) {
  LearnerOptions learner = options.learner;
  if (options.scout.share > 0) learner.rnd.bonus = Bonus::none;
  return learner;
}

LearnerOptions scout_learner(const AgentOptions& options) {
  constexpr std::uint64_t kOwnSeed = std::uint64_t{1} << 63;  // beyond every seed of a run
  LearnerOptions learner = options.learner;
  learner.network.hidden = options.scout.hidden;
  learner.critic.optimism = -1;
  if (options.scout.n_step > 0) learner.train.n_step = options.scout.n_step;
  learner.optimist = false;  // its policy itself explores
  learner.seed ^= kOwnSeed;
  return learner;
}

Scout::Scout(const AgentOptions& options)
    : learner_(scout_learner(options)),
      policy_(learner_.actor_shape(), options.learner.action_size) {}

void Scout::head(std::span<const double> input, ActorHead& head) {
  if (loaded_ != learner_.updates()) policy_.load(learner_.actor());
  loaded_ = learner_.updates();
  policy_.head(input, head);
}

void Scout::add_state(LearnerState& state) {
  LearnerState own = learner_.state();
  for (auto& [name, values] : own.arrays) state.arrays.emplace_back(kScout + name, values);
  for (auto& [name, values] : own.statistics) state.statistics.emplace_back(kScout + name, values);
}

void Scout::restored(std::uint64_t updates) {
  *learner_.state().updates = updates;
  learner_.restored();
  loaded_ = ~std::uint64_t{0};
}

}  // namespace ovde
