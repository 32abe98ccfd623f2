// The learner: the actor and the two critics of one agent, and the update that changes them
// (Algorithm 2). SAC is the case of one value per critic with squared loss, DSAC that of N
// quantiles. Knows nothing of environments or of how actions are chosen.
//
// An update is cut into fixed pieces (critic, half batch) that a Team of any size runs: the bits of
// the result do not depend on the number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "agent/actor_critic/actor.h"
#include "agent/actor_critic/extension.h"
#include "agent/critic/critic.h"

namespace ovde {

class Learner {
 public:
  explicit Learner(const LearnerOptions& options);
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;

  UpdateReport update(const Replay& replay, Team& team);

  // How the two critics are blended in the updates to come (critic.optimism).
  void set_optimism(float optimism) { blend_ = blend_of(optimism); }

  // The factor of the rewards in the updates to come.
  void set_reward_scale(float factor) { batch_.reward_scale = factor; }

  // Values at the last update's batch and the policy's actions.
  ValueReport value_report() const;

  const LearnerOptions& options() const { return options_; }
  // The networks as in acting.
  const MlpShape& actor_shape() const { return actor_->network().acting_shape(); }
  std::span<const float> actor() const { return actor_->network().acting_parameters(); }
  std::span<const float> critic(int k) const { return critics_[k]->acting_parameters(); }
  // Parameters of an actor that explores in the policy's place; empty: the policy explores.
  std::span<const float> exploring_actor() const;
  std::uint64_t updates() const { return updates_; }

  LearnerState state();
  void restored();
  void policy_restored() { actor_->network().acting_restored(); }

  // Multiply-adds, counted as two, of the matrix products of one update, on average.
  double flop_per_update() const;

 private:
  void draw_batch(const Replay& replay, int half);
  void join_actions(int half);
  void fill_targets(const TargetValues& values, int half);

  LearnerOptions options_;
  Blend blend_;
  std::unique_ptr<Actor> actor_;
  CriticArray critics_;
  std::vector<std::unique_ptr<Extension>> extensions_;  // called one after the other
  std::uint64_t updates_ = 0;

  // the batch and its results (features x batch)
  ReplayBatch batch_;
  Batch state_action_, next_state_action_, state_new_action_;  // observation above action
  Batch targets_;                                              // (targets x batch)
  ActorValue actor_value_;
  std::array<double, 2> critic_loss_{}, actor_loss_{};  // for each critic, for each half
};

}  // namespace ovde
