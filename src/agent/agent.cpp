#include "agent/agent.h"

#include <algorithm>
#include <cmath>

namespace ovde {

namespace {
void to_float(std::span<const double> from, std::vector<float>& to) {
  std::ranges::transform(from, to.begin(), [](double x) { return static_cast<float>(x); });
}
}  // namespace

Agent::Agent(const AgentOptions& options)
    : learner_(options.learner),
      replay_(options.learner.observation_size, options.learner.action_size, options.replay),
      behaviour_noise_(options.learner.seed, Stream::behaviour_noise),
      explorer_noise_(options.learner.seed, Stream::explorer),
      policy_(learner_.actor_shape()),
      critics_(make_critic_pair(options.learner)),
      explorer_(make_explorer(options.algorithm, options.explore, options.learner.action_size,
                              options.learner.quantiles)),
      head_(options.learner.action_size),
      mean_(options.learner.action_size),
      observation_(options.learner.observation_size),
      next_observation_(options.learner.observation_size),
      action_(options.learner.action_size) {}

// Acting happens in long stretches between updates: its copies of the networks are renewed when one
// has passed.
void Agent::load_networks() {
  if (loaded_ == learner_.updates()) return;
  policy_.load(learner_.actor());
  if (explorer_) critics_->load(learner_.critic(0), learner_.critic(1));
  loaded_ = learner_.updates();
}

void Agent::act(std::span<const double> observation, std::span<double> action) {
  load_networks();
  policy_.act(observation, action);
}

Decision Agent::explore(std::span<const double> observation, bool plain, std::span<double> action) {
  load_networks();
  policy_.head(observation, head_);
  mean_ = head_.mean;

  Decision decision;
  if (explorer_ && !plain) {
    to_float(observation, observation_);
    decision.m = explorer_->shift(observation_, head_, *critics_, explorer_noise_, mean_);
    double squares = 0;
    for (std::size_t d = 0; d < mean_.size(); ++d) squares += std::pow(mean_[d] - head_.mean[d], 2);
    decision.shift = std::sqrt(squares);
  }

  for (std::size_t d = 0; d < mean_.size(); ++d) {
    action[d] = std::tanh(mean_[d] + head_.std[d] * behaviour_noise_.normal());
  }
  return decision;
}

void Agent::remember(std::span<const double> observation, std::span<const double> action,
                     double reward, std::span<const double> next_observation, bool terminal) {
  to_float(observation, observation_);
  to_float(action, action_);
  to_float(next_observation, next_observation_);
  replay_.add(observation_, action_, static_cast<float>(reward), next_observation_, terminal);
}

}  // namespace ovde
