#include "agent/discrete/learner.h"

namespace ovde {

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

  // the networks choose the next action, the target networks say what it is worth
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

}  // namespace ovde
