#include "agent/discrete/agent.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <ovde/error.h>

namespace ovde {

// ---- learning

DiscreteLearner::DiscreteLearner(const LearnerOptions& options, const ActionGrid& grid)
    : options_(options),
      grid_(grid),
      critics_{GridCritic(options, grid.actions(), 0), GridCritic(options, grid.actions(), 1)},
      batch_(options),
      action_(static_cast<std::size_t>(batch_.weight.blocks()) * kLanes),
      next_action_(action_.size()),
      targets_(options.critic.quantiles, options.train.batch) {}

UpdateReport DiscreteLearner::update(const Replay& replay, Team& team) {
  team.run(2, [&](int half) { load_batch(replay, half_blocks(targets_, half)); });

  // the networks choose the next action, the target networks evaluate it
  team.run(2, [&](int k) { next_means_[k] = &critics_[k].next_means(batch_.next_observation); });
  team.run(2, [&](int half) { choose_next_actions(half_blocks(targets_, half)); });
  team.run(2, [&](int k) { critics_[k].target_values(batch_.next_observation, next_action_); });
  team.run(2, [&](int half) {
    batch_.fill_targets(critics_[0].target_values(), critics_[1].target_values(), 0, nullptr,
                        targets_, half_blocks(targets_, half));
  });
  team.run(2, [&](int k) {
    loss_[k] = critics_[k].learn(batch_.observation, action_, targets_, batch_.weight, updates_);
  });

  ++updates_;
  return {.critic_loss = (loss_[0] + loss_[1]) / 2, .actor_loss = {}, .temperature = {}};
}

void DiscreteLearner::load_batch(const Replay& replay, Blocks blocks) {
  batch_.draw(replay, updates_, blocks, [&](int s, const float* action) {
    action_[s] = grid_.nearest({action, static_cast<std::size_t>(options_.action_size)});
  });
}

// a'(s') = argmax_a of the mean over quantiles and critics; of equals the first
void DiscreteLearner::choose_next_actions(Blocks blocks) {
  for (int s = blocks.first * kLanes; s < blocks.last * kLanes; ++s) {
    const auto value = [&](int a) { return next_means_[0]->at(a, s) + next_means_[1]->at(a, s); };
    int best = 0;
    for (int a = 1; a < grid_.actions(); ++a) {
      if (value(a) > value(best)) best = a;
    }
    next_action_[s] = best;
  }
}

ValueReport DiscreteLearner::value_report() const {
  return ovde::value_report(critics_[0].target_values(), critics_[1].target_values(),
                            options_.critic.uncertainty);
}

LearnerState DiscreteLearner::state() {
  LearnerState state;
  add_network("critic_1", critics_[0].network(), state.arrays);
  add_network("critic_2", critics_[1].network(), state.arrays);
  state.updates = &updates_;
  return state;
}

void DiscreteLearner::restored() {
  for (GridCritic& critic : critics_) critic.restored();
}

// ---- exploring

IdsArm Ids::arm(const QuantilePair& z, int action) const {
  const double* first = z.critic[0].data() + static_cast<std::size_t>(action) * quantiles_;
  const double* second = z.critic[1].data() + static_cast<std::size_t>(action) * quantiles_;
  double first_mean = 0, second_mean = 0;
  for (int i = 0; i < quantiles_; ++i) {
    first_mean += first[i] / quantiles_;
    second_mean += second[i] / quantiles_;
  }
  const double mean = (first_mean + second_mean) / 2;
  double variance = 0;
  for (int i = 0; i < quantiles_; ++i) {
    const double deviation = (first[i] + second[i]) / 2 - mean;
    variance += deviation * deviation / quantiles_;
  }
  return {mean, std::abs(first_mean - second_mean) / 2, variance};
}

int Ids::choose(const QuantilePair& z) {
  const int actions = static_cast<int>(arms_.size());
  double best_bound = -std::numeric_limits<double>::infinity(), mean_variance = 0;
  for (int a = 0; a < actions; ++a) {
    arms_[a] = arm(z, a);
    best_bound = std::max(best_bound, rule_.upper_bound(arms_[a]));
    mean_variance += arms_[a].variance / actions;
  }

  int chosen = 0;
  double smallest = std::numeric_limits<double>::infinity();
  for (int a = 0; a < actions; ++a) {
    const double ratio = rule_.ratio(arms_[a], best_bound, mean_variance);
    if (ratio < smallest) {
      smallest = ratio;
      chosen = a;
    }
  }
  return chosen;
}

// ---- the agent

DiscreteAgent::DiscreteAgent(const AgentOptions& options)
    : Agent(options),
      grid_(options.learner.action_size, options.ids.bins),
      learner_(options.learner, grid_),
      rule_(options.ids.lambda, grid_.actions(), options.learner.critic.quantiles),
      greedy_(learner_.critic_shape(), grid_, options.learner.critic.quantiles),
      critics_(learner_.critic_shape(), options.learner.observation_size),
      input_(options.learner.observation_size) {
  if (options.algorithm.explorer != "ids")
    throw Error(options.algorithm.name + " has no rule for discrete actions");
}

// Acting has copies of the networks, which are renewed when an update has passed.
void DiscreteAgent::load_networks() {
  if (loaded_ == learner_.updates()) return;
  greedy_.load(learner_.critic(0), learner_.critic(1));
  critics_.load(learner_.critic(0), learner_.critic(1));
  loaded_ = learner_.updates();
}

void DiscreteAgent::act(std::span<const double> observation, std::span<double> action) {
  load_networks();
  to_input(observation, greedy_.input());
  greedy_.act(action);
}

Decision DiscreteAgent::explore(std::span<const double> observation, bool plain,
                                std::span<double> action) {
  to_input(observation, input_);
  return decide(propose(input_, plain), plain, action);
}

Proposal DiscreteAgent::propose(std::span<const float> input, bool plain) {
  if (plain) return {};
  load_networks();
  return {.choice = rule_.choose(critics_.quantiles(input, {}, explorer_noise()))};
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
  add_scaling_state(state);
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
