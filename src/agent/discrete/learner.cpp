#include "agent/discrete/learner.h"

#include "agent/replay_batch.h"

namespace ovde {

IdsLearner::IdsLearner(const LearnerOptions& options, const ActionGrid& grid)
    : options_(options),
      grid_(grid),
      critics_{GridCritic(options, grid.actions(), 0), GridCritic(options, grid.actions(), 1)},
      observation_(options.observation_size, options.batch),
      next_observation_(options.observation_size, options.batch),
      reward_(1, options.batch),
      continues_(1, options.batch),
      weight_(1, options.batch),
      action_(static_cast<std::size_t>(weight_.blocks()) * kLanes),
      next_action_(action_.size()),
      targets_{Batch(options.quantiles, options.batch), Batch(options.quantiles, options.batch)} {
  for (int s = 0; s < options.batch; ++s)
    weight_.at(0, s) = 1.0f / static_cast<float>(options.batch);
}

UpdateReport IdsLearner::update(const Replay& replay, Team& team) {
  team.run(2, [&](int half) { load_batch(replay, half_blocks(weight_, half)); });

  // the networks choose the next action, the target networks say what it is worth
  team.run(2, [&](int k) { next_means_[k] = &critics_[k].next_means(next_observation_); });
  team.run(2, [&](int half) { choose_next_actions(half_blocks(weight_, half)); });
  team.run(2, [&](int k) { critics_[k].target_values(next_observation_, next_action_); });
  team.run(2, [&](int k) { update_critic(k); });

  ++updates_;
  return {.critic_loss = (loss_[0] + loss_[1]) / 2, .actor_loss = {}, .temperature = {}};
}

void IdsLearner::load_batch(const Replay& replay, Blocks blocks) {
  for_each_row(
      replay, options_.seed, updates_, options_.batch, blocks, [&](int s, const auto& row) {
        for (int f = 0; f < options_.observation_size; ++f) {
          observation_.at(f, s) = row.observation[f];
          next_observation_.at(f, s) = row.next_observation[f];
        }
        action_[s] = grid_.nearest({row.action, static_cast<std::size_t>(options_.action_size)});
        reward_.at(0, s) = row.reward;
        continues_.at(0, s) = options_.discount * (1 - row.terminal);
      });
}

// a'(s') = argmax_a of the mean over quantiles and critics; of equals the first
void IdsLearner::choose_next_actions(Blocks blocks) {
  for (int s = blocks.first * kLanes; s < blocks.last * kLanes; ++s) {
    const auto value = [&](int a) { return next_means_[0]->at(a, s) + next_means_[1]->at(a, s); };
    int best = 0;
    for (int a = 1; a < grid_.actions(); ++a) {
      if (value(a) > value(best)) best = a;
    }
    next_action_[s] = best;
  }
}

void IdsLearner::update_critic(int k) {
  // y_i = r + gamma (1 - terminal) min_k zbar_ki(s', a'(s'))
  const Batch &first = critics_[0].target_values(), &second = critics_[1].target_values();
  for (int b = 0; b < weight_.blocks(); ++b) {
    for (int v = 0; v < kLanes; v += kVector) {
      const Vector reward = load(reward_.row(b, 0) + v), continues = load(continues_.row(b, 0) + v);
      for (int i = 0; i < options_.quantiles; ++i) {
        const Vector z1 = load(first.row(b, i) + v), z2 = load(second.row(b, i) + v);
        store(targets_[k].row(b, i) + v, reward + continues * (z1 < z2 ? z1 : z2));
      }
    }
  }
  loss_[k] = critics_[k].learn(observation_, action_, targets_[k], weight_, updates_);
}

ValueReport IdsLearner::value_report() const {
  return ovde::value_report(critics_[0].target_values(), critics_[1].target_values());
}

LearnerState IdsLearner::state() {
  LearnerState state;
  add_network("critic_1", critics_[0].network(), state.arrays);
  add_network("critic_2", critics_[1].network(), state.arrays);
  state.updates = &updates_;
  return state;
}

void IdsLearner::restored() {
  for (GridCritic& critic : critics_) critic.restored();
}

}  // namespace ovde
