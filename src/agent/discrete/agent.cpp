#include "agent/discrete/agent.h"

#include <limits>

namespace ovde {

IdsAgent::IdsAgent(const AgentOptions& options)
    : Agent(options),
      grid_(options.learner.action_size, options.ids.bins),
      learner_(options.learner, grid_),
      rule_(options.ids.lambda, grid_.actions(), options.learner.quantiles),
      greedy_(learner_.critic_shape(), grid_, options.learner.quantiles),
      critics_(learner_.critic_shape(), options.learner.observation_size),
      observation_(options.learner.observation_size) {}

// As of the actor-critic agent: copies for acting, renewed when an update has passed.
void IdsAgent::load_networks() {
  if (loaded_ == learner_.updates()) return;
  greedy_.load(learner_.critic(0), learner_.critic(1));
  critics_.load(learner_.critic(0), learner_.critic(1));
  loaded_ = learner_.updates();
}

void IdsAgent::act(std::span<const double> observation, std::span<double> action) {
  load_networks();
  greedy_.act(observation, action);
}

Decision IdsAgent::explore(std::span<const double> observation, bool plain,
                           std::span<double> action) {
  if (plain) {
    grid_.action(static_cast<int>(behaviour_noise().below(grid_.actions())), action);
  } else {
    load_networks();
    to_float(observation, observation_);
    grid_.action(rule_.choose(critics_.quantiles(observation_, {}, explorer_noise())), action);
  }
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return {.m = kNone, .shift = kNone};
}

void IdsAgent::restored() {
  learner_.restored();
  loaded_ = ~std::uint64_t{0};
}

PolicyContents IdsAgent::policy() const {
  return {.networks = {{"critic_1", learner_.critic_shape(), learner_.critic(0)},
                       {"critic_2", learner_.critic_shape(), learner_.critic(1)}},
          .bins = grid_.bins()};
}

}  // namespace ovde
