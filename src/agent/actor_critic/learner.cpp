#include "agent/actor_critic/learner.h"

#include <algorithm>
#include <iterator>

#include "agent/actor_critic/bonus.h"
#include "agent/actor_critic/optimist.h"
#include "agent/actor_critic/truncation.h"

namespace ovde {

namespace {

using Extensions = std::vector<std::unique_ptr<Extension>>;

// The extensions that the options ask for. Their state is saved in this order.
Extensions make_extensions(const LearnerOptions& options, Actor& actor, CriticArray& critics) {
  Extensions all;
  if (options.critic.dropped > 0) all.push_back(std::make_unique<Truncation>(options));
  if (options.optimist) all.push_back(std::make_unique<Optimist>(options, actor, critics));
  if (options.rnd.bonus != Bonus::none) all.push_back(std::make_unique<Rnd>(options));
  return all;
}

// A categorical critic's targets are probabilities of its values, whatever an extension chooses.
int target_rows(const CriticOptions& critic, const Extensions& extensions) {
  if (critic.head == CriticHead::categorical) return critic.atoms;
  int count = critic.quantiles;
  for (const auto& each : extensions) count = each->target_count(count);
  return count;
}

}  // namespace

Learner::Learner(const LearnerOptions& options)
    : options_(options),
      blend_(blend_of(options.critic.optimism)),
      actor_(make_actor(options)),
      critics_{make_critic(options, 0), make_critic(options, 1)},
      extensions_(make_extensions(options, *actor_, critics_)),
      batch_(options),
      state_action_(options.observation_size + options.action_size, options.train.batch),
      next_state_action_(state_action_),
      state_new_action_(state_action_),
      targets_(target_rows(options.critic, extensions_), options.train.batch),
      actor_value_(options, options.critic.minimum, critics_) {}

// Algorithm 2. The actor and the temperature move in every train.actor_every-th update. The
// temperature moves first, by the actions just drawn; the target networks move with their networks,
// inside learn() and step().
UpdateReport Learner::update(const Replay& replay, Team& team) {
  const Update update{updates_, replay, batch_, team};
  const bool actor_moves = (updates_ + 1) % options_.train.actor_every == 0;

  // a batch of transitions, the policy's actions at s and the target policy's at s'
  team.run(2, [&](int half) { draw_batch(replay, half); });
  actor_->act(batch_, updates_, team);
  team.run(2, [&](int half) { join_actions(half); });
  const BatchPair transitions{state_action_, next_state_action_};
  if (actor_moves) actor_->update_temperature(updates_);

  // the critics' targets (Eq. 4)
  std::array<const Batch*, 2> next_values;
  team.run(2, [&](int k) { next_values[k] = &critics_[k]->target_values(transitions, updates_); });
  const TargetValues values{
      next_values[0],
      next_values[1],
      critics_[0]->target_weights(),
      {critics_[0]->target_probabilities(), critics_[1]->target_probabilities()}};
  for (auto& each : extensions_) each->change_rewards(update, values);
  team.run(2, [&](int half) { fill_targets(values, half); });

  // the critics (Eq. 2); in TD3 their target networks wait for the actor
  const bool targets_move = actor_moves || options_.policy != PolicyKind::deterministic;
  team.run(2, [&](int k) {
    critic_loss_[k] = critics_[k]->learn(transitions, targets_, batch_.weight,
                                         targets_move ? options_.train.polyak : 0, updates_);
  });
  for (auto& each : extensions_) each->after_critics(update);

  // the actor, by the critics just updated: mean(alpha log pi - min_k Q_k) (Eq. 5, 6)
  actor_value_.evaluate(state_new_action_, actor_moves, updates_, team);
  team.run(2, [&](int half) {
    actor_loss_[half] = actor_value_.loss(actor_->own_loss(half), blend_, batch_.weight, half);
  });
  if (actor_moves) {
    actor_value_.differentiate(state_new_action_, team);
    team.run(2, [&](int half) {
      actor_->differentiate(actor_value_.gradient(half), batch_.weight, half);
    });
    actor_->step(batch_, updates_, team);
  }
  for (auto& each : extensions_) each->after_actor(update);

  ++updates_;
  return {(critic_loss_[0] + critic_loss_[1]) / 2, actor_loss_[0] + actor_loss_[1],
          actor_->temperature()};
}

void Learner::draw_batch(const Replay& replay, int half) {
  const Blocks blocks = half_blocks(batch_.weight, half);
  const int actions = options_.observation_size;  // the first row of the action below s
  batch_.draw(replay, updates_, blocks, [&](int s, const float* action) {
    for (int d = 0; d < options_.action_size; ++d) state_action_.at(actions + d, s) = action[d];
  });
  copy_rows(batch_.observation, state_action_, 0, blocks);
  copy_rows(batch_.observation, state_new_action_, 0, blocks);
  copy_rows(batch_.next_observation, next_state_action_, 0, blocks);
}

// The actor's actions, below their observations.
void Learner::join_actions(int half) {
  const Blocks blocks = half_blocks(batch_.weight, half);
  copy_rows(actor_->actions().action, state_new_action_, options_.observation_size, blocks);
  copy_rows(actor_->next_actions().action, next_state_action_, options_.observation_size, blocks);
}

void Learner::fill_targets(const TargetValues& values, int half) {
  TargetValues chosen = values;
  for (auto& each : extensions_) chosen = each->choose_targets(chosen, half);
  critics_[0]->fill_targets(batch_, chosen, actor_->temperature().value_or(0),
                            actor_->next_actions().log_probability, blend_, targets_,
                            half_blocks(targets_, half));
}

std::span<const float> Learner::exploring_actor() const {
  for (const auto& each : extensions_) {
    if (const auto parameters = each->exploring_actor(); !parameters.empty()) return parameters;
  }
  return {};
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
  for (auto& each : extensions_) each->add_state(state);
  state.updates = &updates_;
  return state;
}

void Learner::restored() {
  actor_->restored();
  for (auto& critic : critics_) critic->restored();
  for (auto& each : extensions_) each->restored();
}

double Learner::flop_per_update() const {
  double added = 0;
  for (const auto& each : extensions_) added += each->flop_per_update();
  double always = actor_->network().forward_flop() + actor_->network().second_flop() + added;
  double moving = actor_->network().backward_flop();
  for (const auto& critic : critics_) {
    always += critic->learning_flop() + critic->evaluation_flop();
    moving += critic->action_gradient_flop(options_.critic.minimum == Minimum::quantiles);
  }
  return always + moving / options_.train.actor_every;
}

}  // namespace ovde
