#include "agent/actor_critic/learner.h"

#include <algorithm>

#include "agent/critic/truncation.h"

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
      blend_(blend_of(options.critic.optimism)),
      actor_(make_actor(options)),
      critics_{make_critic(options, 0), make_critic(options, 1)},
      optimist_(options.optimist ? std::make_unique<Optimist>(options, actor_->network())
                                 : nullptr),
      rnd_(options.rnd.bonus != Bonus::none ? std::make_unique<Rnd>(options) : nullptr),
      discount_(options.rnd.bonus == Bonus::discounted ? std::make_unique<NoiseDiscount>(options)
                                                       : nullptr),
      batch_(options),
      state_action_(options.observation_size + options.action_size, options.train.batch),
      next_state_action_(options.observation_size + options.action_size, options.train.batch),
      state_new_action_(options.observation_size + options.action_size, options.train.batch),
      targets_(target_count(options.critic.quantiles, options.critic.dropped), options.train.batch),
      share_{Batch(options.critic.minimum == Minimum::quantiles ? options.critic.quantiles : 1,
                   options.train.batch),
             Batch(options.critic.minimum == Minimum::quantiles ? options.critic.quantiles : 1,
                   options.train.batch)},
      q_gradient_(options.action_size, options.train.batch) {
  if (optimist_) state_optimist_action_ = state_new_action_;
  if (options.critic.dropped == 0) return;
  kept_ = Batch(targets_.features(), options.train.batch);
  for (auto& all : all_values_) all.resize(2 * options.critic.quantiles);
}

UpdateReport Learner::update(const Replay& replay, Team& team) {
  if (rnd_) rnd_->observe(replay);
  team.run(2, [&](int half) {
    load_batch(replay, half_blocks(batch_.weight, half));
    if (rnd_) rnd_->predict(batch_.next_observation, batch_.weight, half);
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
  if (rnd_) add_bonus(team);
  team.run(2, [&](int half) { fill_targets(half); });
  const auto evaluate_new_actions = [&](int k) {
    critics_[k]->evaluate(state_new_action_, moves && options_.critic.minimum != Minimum::quantiles,
                          updates_);
  };
  team.run(2, [&](int k) {
    critic_loss_[k] = critics_[k]->learn(state_action_, targets_, batch_.weight,
                                         moves ? options_.train.polyak : 0, updates_);
    if (!optimist_) evaluate_new_actions(k);
  });
  if (optimist_) {
    improve_optimist(team);
    team.run(2, evaluate_new_actions);
  }
  if (options_.critic.minimum == Minimum::quantiles) {
    team.run(2, [&](int half) { evaluate_actor(half); });
    if (moves) {
      team.run(2, [&](int k) {
        action_gradient_[k] = &critics_[k]->action_gradient_by_value(state_new_action_, share_[k]);
      });
      team.run(2, [&](int half) { differentiate_actor(half); });
    }
  } else {
    team.run(2, [&](int half) {
      evaluate_actor(half);
      if (moves) differentiate_actor(half);
    });
  }
  if (moves) actor_->step((updates_ + 1) / delay, team);
  if (optimist_) optimist_->end_update(updates_, actor_->network());

  ++updates_;
  return {(critic_loss_[0] + critic_loss_[1]) / 2, actor_loss_[0] + actor_loss_[1],
          actor_->temperature()};
}

void Learner::load_batch(const Replay& replay, Blocks blocks) {
  batch_.draw(replay, updates_, blocks, [&](int s, const float* action) {
    for (int d = 0; d < options_.action_size; ++d)
      state_action_.at(options_.observation_size + d, s) = action[d];
  });
  copy_rows(batch_.observation, state_action_, 0, blocks);
  copy_rows(batch_.observation, state_new_action_, 0, blocks);
  if (optimist_) copy_rows(batch_.observation, state_optimist_action_, 0, blocks);
  copy_rows(batch_.next_observation, next_state_action_, 0, blocks);
}

// The actions that the critics are asked about: the policy's own at s, and those of the targets at
// s'.
void Learner::choose_actions(int half) {
  const Blocks blocks = half_blocks(batch_.weight, half);
  actor_->act(batch_.observation, batch_.weight, updates_, half);
  copy_rows(actor_->actions().action, state_new_action_, options_.observation_size, blocks);
  actor_->act_next(batch_.next_observation, updates_, half);
  copy_rows(actor_->next_actions().action, next_state_action_, options_.observation_size, blocks);
  if (!optimist_) return;
  optimist_->act(batch_.observation, updates_, half);
  copy_rows(optimist_->action(), state_optimist_action_, options_.observation_size, blocks);
}

// By the values of the target networks at (s', a'), which are there anyway: the bonus is for s'.
void Learner::add_bonus(Team& team) {
  if (discount_) {
    team.run(2, [&](int half) {
      discount_->measure(*target_values_[0], *target_values_[1], critics_[0]->target_weights(),
                         half);
    });
    discount_->compare();
  }
  rnd_->add_bonus(discount_ ? &discount_->share() : nullptr, batch_.reward);
}

void Learner::fill_targets(int half) {
  const Blocks blocks = half_blocks(targets_, half);
  const Batch *first = target_values_[0], *second = target_values_[1];
  if (options_.critic.dropped > 0) {
    keep_smallest(*first, *second, all_values_[half], kept_, blocks);
    first = second = &kept_;
  }
  batch_.fill_targets(*first, *second, actor_->temperature().value_or(0),
                      &actor_->next_actions().log_probability, targets_, blocks, blend_);
}

// By the critics just updated, and the policy as it is before its own step.
void Learner::improve_optimist(Team& team) {
  team.run(2, [&](int k) { critics_[k]->evaluate(state_optimist_action_, true, updates_); });
  const Blend blend = optimist_->blend();
  team.run(2, [&](int half) {
    const Blocks blocks = half_blocks(batch_.weight, half);
    double unused = 0;
    choose_means(blend, blocks, unused);
    add_gradients(false, blocks);
    optimist_->differentiate(batch_.observation, actor_->network().output(), q_gradient_,
                             batch_.weight, half);
  });
  optimist_->step(updates_, team);
}

// The loss mean(alpha log pi - min_k Q_k) (Eq. 5) over one half of the batch, Q_k being the mean of
// the values of critic k at the policy's own actions (Eq. 6); notes what counts of each critic.
void Learner::evaluate_actor(int half) {
  const Blocks blocks = half_blocks(batch_.weight, half);
  actor_loss_[half] = actor_->own_loss(half);
  options_.critic.minimum == Minimum::quantiles ? choose_values(blocks, actor_loss_[half])
                                                : choose_means(blend_, blocks, actor_loss_[half]);
}

// Subtracts what both critics' means come to.
void Learner::choose_means(const Blend& blend, Blocks blocks, double& loss) {
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int v = 0; v < kLanes; v += kVector) {
      const Vector first = load(critics_[0]->mean().row(b, 0) + v);
      const Vector second = load(critics_[1]->mean().row(b, 0) + v);
      note_shares(blend, first <= second, b, 0, v);
      loss -= sum_lanes(load(batch_.weight.row(b, 0) + v) * blended(blend, first, second));
    }
  }
}

// The same with the mean over the quantiles of min_k z_ki instead of min_k Q_k.
void Learner::choose_values(Blocks blocks, double& loss) {
  const Batch &first = critics_[0]->values(), &second = critics_[1]->values();
  const Batch* weights = critics_[0]->value_weights();
  const float share = 1.0f / static_cast<float>(options_.critic.quantiles);
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int v = 0; v < kLanes; v += kVector) {
      Vector sum{};
      for (int i = 0; i < options_.critic.quantiles; ++i) {
        const Vector z1 = load(first.row(b, i) + v), z2 = load(second.row(b, i) + v);
        note_shares(blend_, z1 <= z2, b, i, v);
        const Vector weight = weights ? load(weights->row(b, i) + v) : splat(1);
        sum += weight * share * blended(blend_, z1, z2);
      }
      loss -= sum_lanes(load(batch_.weight.row(b, 0) + v) * sum);
    }
  }
}

// What counts of each critic where the first is the smaller, and where it is not.
template <typename Mask>
void Learner::note_shares(const Blend& blend, Mask first_is_smaller, int block, int row, int lane) {
  const Vector low = splat(blend.smaller), high = splat(blend.larger);
  store(share_[0].row(block, row) + lane, first_is_smaller ? low : high);
  store(share_[1].row(block, row) + lane, first_is_smaller ? high : low);
}

// Its gradient: of each sample through what counts of either critic, then through the actor.
void Learner::differentiate_actor(int half) {
  add_gradients(options_.critic.minimum == Minimum::quantiles, half_blocks(batch_.weight, half));
  actor_->differentiate(batch_.observation, q_gradient_, batch_.weight, half);
}

// Of both critics, by the action.
void Learner::add_gradients(bool by_value, Blocks blocks) {
  const auto gradient = [&](int k) -> const Batch& {
    return by_value ? *action_gradient_[k] : critics_[k]->action_gradient(share_[k], blocks);
  };
  const Batch &first = gradient(0), &second = gradient(1);
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int d = 0; d < options_.action_size; ++d) {
      for (int v = 0; v < kLanes; v += kVector)
        store(q_gradient_.row(b, d) + v, load(first.row(b, d) + v) + load(second.row(b, d) + v));
    }
  }
}

std::span<const float> Learner::optimist() const {
  if (!optimist_) return {};
  return optimist_->network().trained().parameters;
}

ValueReport Learner::value_report() const {
  return ovde::value_report(critics_[0]->values(), critics_[1]->values(),
                            options_.critic.uncertainty, critics_[0]->value_weights());
}

LearnerState Learner::state() {
  LearnerState state;
  add_network("actor", actor_->network().trained(), state.arrays);
  add_network("critic_1", critics_[0]->network(), state.arrays);
  add_network("critic_2", critics_[1]->network(), state.arrays);
  std::ranges::move(actor_->more_state(), std::back_inserter(state.arrays));
  if (optimist_) optimist_->add_state(state);
  if (rnd_) rnd_->add_state(state);
  state.updates = &updates_;
  return state;
}

void Learner::restored() {
  actor_->restored();
  for (auto& critic : critics_) critic->restored();
  if (optimist_) optimist_->restored();
  if (rnd_) rnd_->restored();
}

double Learner::flop_per_update() const {
  double always = 2 * actor_->network().forward_flop();
  double moving = actor_->network().backward_flop();
  for (const auto& critic : critics_) {
    always += critic->learning_flop() + critic->evaluation_flop();
    moving += critic->action_gradient_flop(options_.critic.minimum == Minimum::quantiles);
  }
  if (optimist_) {
    always += optimist_->network().forward_flop() + optimist_->network().backward_flop();
    for (const auto& critic : critics_)
      always += critic->evaluation_flop() + critic->action_gradient_flop(false);
  }
  if (rnd_) always += rnd_->flop_per_update();
  return always + moving / actor_->delay();
}

}  // namespace ovde
