#include "agent/actor_critic/learner.h"

#include <algorithm>

#include "agent/replay_batch.h"

namespace ovde {

namespace {

// Copies rows of one batch into rows of another.
void copy_rows(const Batch& from, Batch& to, int first, Blocks blocks) {
  for (int b = blocks.first; b < blocks.last; ++b) {
    std::copy_n(from.block(b), from.features() * kLanes, to.row(b, first));
  }
}

}  // namespace

Learner::Learner(const LearnerOptions& options)
    : options_(options),
      actor_(make_actor(options)),
      critics_{make_critic(options, 0), make_critic(options, 1)},
      rnd_(options.rnd ? std::make_unique<Rnd>(options) : nullptr),
      observation_(options.observation_size, options.batch),
      next_observation_(options.observation_size, options.batch),
      state_action_(options.observation_size + options.action_size, options.batch),
      next_state_action_(options.observation_size + options.action_size, options.batch),
      state_new_action_(options.observation_size + options.action_size, options.batch),
      reward_(1, options.batch),
      continues_(1, options.batch),
      weight_(1, options.batch),
      targets_{Batch(options.quantiles, options.batch), Batch(options.quantiles, options.batch)},
      smaller_{Batch(1, options.batch), Batch(1, options.batch)},
      q_gradient_(options.action_size, options.batch) {
  for (int s = 0; s < options.batch; ++s)
    weight_.at(0, s) = 1.0f / static_cast<float>(options.batch);
}

UpdateReport Learner::update(const Replay& replay, Team& team) {
  if (rnd_) rnd_->observe(replay);
  team.run(2, [&](int half) {
    load_batch(replay, half_blocks(weight_, half));
    if (rnd_) rnd_->add_bonus(next_observation_, weight_, reward_, half);
    choose_actions(half);
  });
  if (rnd_) rnd_->step(updates_ + 1, team);
  actor_->update_temperature(updates_);

  // critics first, then the actor by the critics just updated (Algorithm 2)
  const int delay = actor_->delay();
  const bool moves = (updates_ + 1) % delay == 0;
  team.run(2, [&](int k) {
    target_values_[k] = &critics_[k]->target_values(next_state_action_, updates_);
  });
  team.run(2, [&](int k) {
    update_critic(k, moves ? options_.polyak : 0);
    critics_[k]->evaluate(state_new_action_, moves, updates_);
  });
  team.run(2, [&](int half) {
    evaluate_actor(half);
    if (moves) differentiate_actor(half);
  });
  if (moves) actor_->step((updates_ + 1) / delay, team);

  ++updates_;
  return {(critic_loss_[0] + critic_loss_[1]) / 2, actor_loss_[0] + actor_loss_[1],
          actor_->temperature()};
}

void Learner::load_batch(const Replay& replay, Blocks blocks) {
  for_each_row(replay, options_.seed, updates_, options_.batch, blocks,
               [&](int s, const auto& row) {
                 for (int f = 0; f < options_.observation_size; ++f) {
                   observation_.at(f, s) = row.observation[f];
                   next_observation_.at(f, s) = row.next_observation[f];
                 }
                 for (int d = 0; d < options_.action_size; ++d) {
                   state_action_.at(options_.observation_size + d, s) = row.action[d];
                 }
                 reward_.at(0, s) = row.reward;
                 continues_.at(0, s) = options_.discount * (1 - row.terminal);
               });
  copy_rows(observation_, state_action_, 0, blocks);
  copy_rows(observation_, state_new_action_, 0, blocks);
  copy_rows(next_observation_, next_state_action_, 0, blocks);
}

// The actions that the critics are asked about: the policy's own at s, and those of the targets at
// s'.
void Learner::choose_actions(int half) {
  const Blocks blocks = half_blocks(weight_, half);
  actor_->act(observation_, weight_, updates_, half);
  copy_rows(actor_->actions().action, state_new_action_, options_.observation_size, blocks);
  actor_->act_next(next_observation_, updates_, half);
  copy_rows(actor_->next_actions().action, next_state_action_, options_.observation_size, blocks);
}

// y_i = r + gamma (1 - terminal) (min_k zbar_ki(s', a') - alpha log pi(a'|s'))  (Eq. 4)
void Learner::fill_targets(Batch& targets) const {
  const float alpha = actor_->temperature().value_or(0);
  const Batch& log_probability = actor_->next_actions().log_probability;
  for (int b = 0; b < targets.blocks(); ++b) {
    for (int v = 0; v < kLanes; v += kVector) {
      const Vector reward = load(reward_.row(b, 0) + v), continues = load(continues_.row(b, 0) + v);
      const Vector entropy = alpha * load(log_probability.row(b, 0) + v);
      for (int i = 0; i < targets.features(); ++i) {
        const Vector first = load(target_values_[0]->row(b, i) + v);
        const Vector second = load(target_values_[1]->row(b, i) + v);
        store(targets.row(b, i) + v,
              reward + continues * ((first < second ? first : second) - entropy));
      }
    }
  }
}

void Learner::update_critic(int k, float polyak) {
  fill_targets(targets_[k]);
  critic_loss_[k] = critics_[k]->learn(state_action_, targets_[k], weight_, polyak, updates_);
}

// The loss mean(alpha log pi - min_k Q_k) (Eq. 5) over one half of the batch, Q_k being the mean of
// the values of critic k at the policy's own actions (Eq. 6); notes which critic is the smaller.
void Learner::evaluate_actor(int half) {
  const Blocks blocks = half_blocks(weight_, half);
  actor_loss_[half] = actor_->own_loss(half);
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int v = 0; v < kLanes; v += kVector) {
      const Vector first = load(critics_[0]->mean().row(b, 0) + v);
      const Vector second = load(critics_[1]->mean().row(b, 0) + v);
      const auto chosen = first <= second;
      store(smaller_[0].row(b, 0) + v, chosen ? splat(1) : Vector{});
      store(smaller_[1].row(b, 0) + v, chosen ? Vector{} : splat(1));
      actor_loss_[half] -= sum_lanes(load(weight_.row(b, 0) + v) * (chosen ? first : second));
    }
  }
}

// Its gradient: of each sample through the critic that is the smaller, then through the actor.
void Learner::differentiate_actor(int half) {
  const Blocks blocks = half_blocks(weight_, half);
  const Batch& first = critics_[0]->action_gradient(smaller_[0], blocks);
  const Batch& second = critics_[1]->action_gradient(smaller_[1], blocks);
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int d = 0; d < options_.action_size; ++d) {
      for (int v = 0; v < kLanes; v += kVector)
        store(q_gradient_.row(b, d) + v, load(first.row(b, d) + v) + load(second.row(b, d) + v));
    }
  }
  actor_->differentiate(observation_, q_gradient_, weight_, half);
}

ValueReport Learner::value_report() const {
  return ovde::value_report(critics_[0]->values(), critics_[1]->values(),
                            critics_[0]->value_weights());
}

LearnerState Learner::state() {
  LearnerState state;
  add_network("actor", actor_->network().trained(), state.arrays);
  add_network("critic_1", critics_[0]->network(), state.arrays);
  add_network("critic_2", critics_[1]->network(), state.arrays);
  std::ranges::move(actor_->more_state(), std::back_inserter(state.arrays));
  if (rnd_) rnd_->add_state(state);
  state.updates = &updates_;
  return state;
}

void Learner::restored() {
  actor_->restored();
  for (auto& critic : critics_) critic->restored();
  if (rnd_) rnd_->restored();
}

double Learner::flop_per_update() const {
  double always = 2 * actor_->network().forward_flop();
  double moving = actor_->network().backward_flop();
  for (const auto& critic : critics_) {
    always += critic->learning_flop() + critic->evaluation_flop();
    moving += critic->action_gradient_flop();
  }
  if (rnd_) always += rnd_->flop_per_update();
  return always + moving / actor_->delay();
}

}  // namespace ovde
