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
      behaviour_noise_(options.learner.seed, Stream::behaviour_noise),
      explorer_noise_(options.learner.seed, Stream::explorer) {
  if (!options.learner.train.normalise_observations) return;
  scaling_.resize(2 * options.learner.observation_size);
  std::fill(scaling_.begin() + options.learner.observation_size, scaling_.end(), 1.0f);
}

void Agent::remember(std::span<const double> observation, std::span<const double> action,
                     double reward, std::span<const double> next_observation, bool terminal,
                     bool last) {
  const Replay::Slot slot = replay_.next_slot();
  to_input(observation, slot.observation);
  std::ranges::transform(action, slot.action.begin(),
                         [](double x) { return static_cast<float>(x); });
  to_input(next_observation, slot.next_observation);
  replay_.add(static_cast<float>(reward), terminal ? EpisodeEnd::terminal
                                          : last   ? EpisodeEnd::cut_off
                                                   : EpisodeEnd::none);
  add_reward(reward);
  if (last) end_episode(true);
}

void Agent::set_scaling(std::span<const double> mean, std::span<const double> deviation) {
  constexpr double kConstant = 1e-6;  // relative to its size, such a coordinate does not vary
  for (std::size_t i = 0; i < mean.size(); ++i) {
    const bool varies = deviation[i] > kConstant * std::max(1.0, std::abs(mean[i]));
    scaling_[i] = static_cast<float>(mean[i]);
    scaling_[mean.size() + i] = varies ? static_cast<float>(1 / deviation[i]) : 1.0f;
  }
}

void Agent::to_input(std::span<const double> observation, std::span<float> input) const {
  const std::size_t n = observation.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double x =
        scaling_.empty() ? observation[i] : (observation[i] - scaling_[i]) * scaling_[n + i];
    input[i] = static_cast<float>(x);
  }
}

void Agent::add_scaling_state(LearnerState& state) {
  if (!scaling_.empty()) state.arrays.emplace_back(parameters_of("observation"), scaling_);
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
