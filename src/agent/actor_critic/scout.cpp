#include "agent/actor_critic/scout.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ovde {

LearnerOptions own_learner(const AgentOptions& options) {
  LearnerOptions learner = options.learner;
  if (options.scout.share > 0) learner.rnd.bonus = Bonus::none;
  return learner;
}

LearnerOptions scout_learner(const AgentOptions& options) {
  constexpr std::uint64_t kOwnSeed = std::uint64_t{1} << 63;  // beyond every seed of a run
  LearnerOptions learner = options.learner;
  learner.network.kind = options.scout.kind;
  learner.network.hidden = options.scout.hidden;
  learner.critic.optimism = -1;
  if (options.scout.n_step > 0) learner.train.n_step = options.scout.n_step;
  learner.optimist = false;
  learner.seed ^= kOwnSeed;
  return learner;
}

// ---- who acts

double Turns::probability() const {
  if (!adapts()) return options_.share;
  const Estimate agent = estimate(false), scout = estimate(true);
  if (agent.count < 2 || scout.count < 2) return options_.share;
  const double more = scout.mean - agent.mean, error = std::hypot(agent.error, scout.error);
  const double f = more == 0 && error == 0 ? 1
                   : more > 0              ? std::erf(more / error / std::sqrt(2.0))
                                           : 0;
  return options_.share * (options_.minimum_share + (1 - options_.minimum_share) * f);
}

void Turns::end_episode(bool scout) {
  double* own = state_.data() + (scout ? kOne : 0);
  own[kLatest + static_cast<int>(own[kCount]++) % kMemory] = std::exchange(state_[kReturn], 0);
}

Turns::Estimate Turns::estimate(bool scout) const {
  const double* own = state_.data() + (scout ? kOne : 0);
  const int n = static_cast<int>(std::min<double>(own[kCount], kMemory));
  // Welford's method: of equal numbers the mean is exactly that number, the deviation 0
  RunningMoments moments(1);
  for (int i = 0; i < n; ++i) moments.add(std::span(own + kLatest + i, 1));
  return {n, moments.mean(0), moments.sample_deviation(0) / std::sqrt(n)};
}

// ---- the scout

Scout::Scout(const AgentOptions& options)
    : learner_(scout_learner(options)),
      policy_(learner_.actor_shape(), options.learner.action_size,
              log_std_form(learner_.options().network)),
      turns_(options.scout) {}

void Scout::end_episode(bool complete, Random& random) {
  complete ? turns_.end_episode(acts_) : turns_.give_up_episode();
  acts_ = turns_.draw(random);
}

PolicyPass& Scout::policy() {
  if (loaded_ != learner_.updates()) policy_.load(learner_.actor());
  loaded_ = learner_.updates();
  return policy_;
}

void Scout::add_learner_state(LearnerState& state) {
  LearnerState own = learner_.state();
  for (auto& [name, values] : own.arrays) state.arrays.emplace_back(kScout + name, values);
  for (auto& [name, values] : own.statistics) state.statistics.emplace_back(kScout + name, values);
}

void Scout::add_turns_state(LearnerState& state) {
  saved_acts_ = acts_ ? 1 : 0;
  state.statistics.emplace_back("scout.acts", std::span(&saved_acts_, 1));
  if (turns_.adapts()) state.statistics.emplace_back("scout.returns", turns_.state());
}

void Scout::restored(std::uint64_t updates) {
  acts_ = saved_acts_ != 0;
  *learner_.state().updates = updates;
  learner_.restored();
  loaded_ = ~std::uint64_t{0};
}

}  // namespace ovde
