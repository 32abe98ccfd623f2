#include "agent/discrete/agent.h"

#include <limits>

#include <ovde/error.h>

namespace ovde {

namespace {

std::unique_ptr<DiscreteRule> make_rule(const AgentOptions& options, int actions) {
  if (options.algorithm.explorer == "ids")
    return make_ids_rule(options.ids, actions, options.learner.critic.quantiles);
  throw Error(options.algorithm.name + " has no rule for discrete actions");
}

}  // namespace

DiscreteAgent::DiscreteAgent(const AgentOptions& options)
    : Agent(options),
      grid_(options.learner.action_size, options.ids.bins),
      learner_(options.learner, grid_),
      rule_(make_rule(options, grid_.actions())),
      greedy_(learner_.critic_shape(), grid_, options.learner.critic.quantiles),
      critics_(learner_.critic_shape(), options.learner.observation_size),
      acted_on_(options.learner.observation_size),
      observation_(options.learner.observation_size) {}

// As of the actor-critic agent: copies for acting, renewed when an update has passed.
void DiscreteAgent::load_networks() {
  if (loaded_ == learner_.updates()) return;
  greedy_.load(learner_.critic(0), learner_.critic(1));
  critics_.load(learner_.critic(0), learner_.critic(1));
  loaded_ = learner_.updates();
}

void DiscreteAgent::act(std::span<const double> observation, std::span<double> action) {
  load_networks();
  greedy_.act(scaled(observation, acted_on_), action);
}

Proposal DiscreteAgent::propose(std::span<const double> input, bool plain) {
  if (plain) return {};
  load_networks();
  to_float(input, observation_);
  const QuantilePair& z = critics_.quantiles(observation_, {}, explorer_noise());
  return {.choice = rule_->choose(z, explorer_noise())};
}

Decision DiscreteAgent::decide(const Proposal& proposal, bool plain, std::span<double> action) {
  const int choice =
      plain ? static_cast<int>(behaviour_noise().below(grid_.actions())) : proposal.choice;
  grid_.action(choice, action);
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  return {.m = kNone, .shift = kNone};
}

LearnerState DiscreteAgent::state() {
  LearnerState state = learner_.state();
  add_state(state);
  return state;
}

void DiscreteAgent::restored() {
  learner_.restored();
  loaded_ = ~std::uint64_t{0};
}

PolicyContents DiscreteAgent::policy() const {
  return {.networks = {{"critic_1", learner_.critic_shape(), learner_.critic(0)},
                       {"critic_2", learner_.critic_shape(), learner_.critic(1)}},
          .bins = grid_.bins(),
          .scaling = scaling()};
}

}  // namespace ovde
