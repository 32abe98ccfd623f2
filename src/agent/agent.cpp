#include "agent/agent.h"

#include <algorithm>
#include <cmath>

#include <ovde/error.h>
#include "agent/actor_critic/agent.h"
#include "agent/discrete/agent.h"

namespace ovde {

Agent::Agent(const AgentOptions& options)
    : options_(options),
      replay_(options.learner.observation_size, options.learner.action_size,
              options.learner.train.replay),
      optimism_(options.learner.critic.optimism),
      behaviour_noise_(options.learner.seed, Stream::behaviour_noise),
      explorer_noise_(options.learner.seed, Stream::explorer),
      observation_(options.learner.observation_size),
      action_(options.learner.action_size),
      next_observation_(options.learner.observation_size) {
  if (options.algorithm.bandit) {
    bandit_.emplace(options.top);
    optimism_ = bandit_->arm();
  }
  if (options.scout.share > 0) turns_.emplace(options.scout);
  if (!options.learner.train.normalise_observations) return;
  scaling_.resize(2 * options.learner.observation_size);
  std::fill(scaling_.begin() + options.learner.observation_size, scaling_.end(), 1.0f);
  scaled_.resize(options.learner.observation_size);
}

void Agent::remember(std::span<const double> observation, std::span<const double> action,
                     double reward, std::span<const double> next_observation, bool terminal,
                     bool last) {
  to_float(scaled(observation), observation_);
  to_float(action, action_);
  to_float(scaled(next_observation), next_observation_);
  replay_.add(observation_, action_, static_cast<float>(reward), next_observation_,
              terminal ? EpisodeEnd::terminal
              : last   ? EpisodeEnd::cut_off
                       : EpisodeEnd::none);
  if (bandit_) bandit_->add(reward);
  if (turns_) turns_->add(reward);
  if (!last) return;
  if (bandit_) bandit_->end_episode(behaviour_noise_);
  if (turns_) turns_->end_episode(scout_acts());
  begin_next_episode();
}

void Agent::give_up_episode() {
  if (bandit_) bandit_->give_up_episode();
  if (turns_) turns_->give_up_episode();
  begin_next_episode();
}

void Agent::begin_next_episode() {
  if (bandit_) optimism_ = bandit_->arm();
  if (turns_) let_scout_act(turns_->draw(behaviour_noise_));
}

void Agent::set_scaling(std::span<const double> mean, std::span<const double> deviation) {
  constexpr double kConstant = 1e-6;  // relative to its size, such a coordinate does not vary
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const bool varies = deviation[i] > kConstant * std::max(1.0, std::abs(mean[i]));
    scaling_[i] = static_cast<float>(mean[i]);
    scaling_[mean.size() + i] = varies ? static_cast<float>(1 / deviation[i]) : 1.0f;
  }
}

std::span<const double> Agent::scaled(std::span<const double> observation,
                                      std::vector<double>& room) const {
  if (scaling_.empty()) return observation;
  for (std::size_t i = 0; i < observation.size(); ++i)
    room[i] = (observation[i] - scaling_[i]) * scaling_[observation.size() + i];
  return room;
}

void Agent::add_state(LearnerState& state) {
  if (!scaling_.empty()) state.arrays.emplace_back("observation.parameters", scaling_);
  if (bandit_) {
    state.statistics.emplace_back("bandit.state", bandit_->state());
    state.statistics.emplace_back("bandit.gains", bandit_->gains());
    state.statistics.emplace_back("bandit.optimism", std::span(&optimism_, 1));
  }
  if (turns_) {
    state.statistics.emplace_back("scout.acts", std::span(&scout_acts_, 1));
    if (turns_->adapts()) state.statistics.emplace_back("scout.returns", turns_->state());
  }
}

void to_float(std::span<const double> from, std::span<float> to) {
  std::ranges::transform(from, to.begin(), [](double x) { return static_cast<float>(x); });
}

std::unique_ptr<Agent> make_agent(const AgentOptions& options) {
  switch (options.algorithm.policy) {
    case PolicyKind::gaussian:
    case PolicyKind::deterministic:
      return std::make_unique<ActorCriticAgent>(options);
    case PolicyKind::greedy:
      return std::make_unique<DiscreteAgent>(options);
  }
  throw Error(options.algorithm.name + " has no kind of agent");
}

}  // namespace ovde
