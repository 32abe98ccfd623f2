#include "agent/agent.h"

#include <algorithm>

#include <ovde/error.h>
#include "agent/actor_critic/agent.h"
#include "agent/discrete/agent.h"
#include "agent/explore/explorer.h"

namespace ovde {

AgentOptions options_for(const Algorithm& algorithm) {
  AgentOptions options;
  options.algorithm = algorithm;
  options.learner.distributional = algorithm.distributional;
  options.learner.policy = algorithm.policy;
  if (!algorithm.distributional) options.learner.quantiles = 1;
  if (algorithm.rnd) options.learner.rnd = RndOptions{};
  options.explore = OptionValues(explorer_options(algorithm.explorer));
  return options;
}

Agent::Agent(const AgentOptions& options)
    : options_(options),
      replay_(options.learner.observation_size, options.learner.action_size, options.replay),
      behaviour_noise_(options.learner.seed, Stream::behaviour_noise),
      explorer_noise_(options.learner.seed, Stream::explorer),
      observation_(options.learner.observation_size),
      action_(options.learner.action_size),
      next_observation_(options.learner.observation_size) {}

void Agent::remember(std::span<const double> observation, std::span<const double> action,
                     double reward, std::span<const double> next_observation, bool terminal) {
  to_float(observation, observation_);
  to_float(action, action_);
  to_float(next_observation, next_observation_);
  replay_.add(observation_, action_, static_cast<float>(reward), next_observation_, terminal);
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
