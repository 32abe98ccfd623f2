// The learner: the critics and the actor of one agent, and the update that changes them (Algorithm
// 2). What the critics' values and the actor's outputs mean is theirs (critic.h, actor.h); SAC is
// the case of one quantile with squared loss. Knows nothing of environments or of how actions are
// chosen.
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
#include "agent/actor_critic/optimist.h"
#include "agent/critic/critic.h"
#include "agent/equations.h"
#include "agent/learning.h"
#include "agent/noise_discount.h"
#include "agent/replay_batch.h"
#include "agent/rnd.h"
#include "base/team.h"

namespace ovde {

class Learner {
 public:
  explicit Learner(const LearnerOptions& options);

  UpdateReport update(const Replay& replay, Team& team);

  // Of the critics, in the updates to come (LearnerOptions).
  void set_optimism(float optimism) { blend_ = blend_of(optimism); }

  // Of the last update's batch.
  ValueReport value_report() const;

  const LearnerOptions& options() const { return options_; }
  const MlpShape& actor_shape() const { return actor_->network().shape(); }
  std::span<const float> actor() const { return actor_->network().trained().parameters; }
  // Of the actor that explores; empty: the policy itself does.
  std::span<const float> optimist() const;
  std::span<const float> critic(int k) const { return critics_[k]->network().parameters; }
  std::uint64_t updates() const { return updates_; }

  LearnerState state();
  void restored();

  // Multiply-adds, counted as two, of the matrix products of one update, on average.
  double flop_per_update() const;

 private:
  // the steps of an update, in their order
  void load_batch(const Replay& replay, Blocks blocks);
  void choose_actions(int half);
  void add_bonus(Team& team);
  void fill_targets(int half);
  void improve_optimist(Team& team);
  void evaluate_actor(int half);
  void choose_means(const Blend& blend, Blocks blocks, double& loss);
  void choose_values(Blocks blocks, double& loss);
  template <typename Mask>
  void note_shares(const Blend& blend, Mask first_is_smaller, int block, int row, int lane);
  void differentiate_actor(int half);
  void add_gradients(bool by_value, Blocks blocks);

  LearnerOptions options_;
  Blend blend_;
  std::unique_ptr<Actor> actor_;
  std::array<std::unique_ptr<Critic>, 2> critics_;
  std::unique_ptr<Optimist> optimist_;       // null: the policy itself explores
  std::unique_ptr<Rnd> rnd_;                 // null: no bonus
  std::unique_ptr<NoiseDiscount> discount_;  // of the bonus; null: it is not discounted
  std::uint64_t updates_ = 0;

  // the batch and what is computed on it (features x batch)
  ReplayBatch batch_;
  Batch state_action_, next_state_action_, state_new_action_;  // observation above action
  Batch state_optimist_action_;                                // likewise, where there is one
  std::array<const Batch*, 2> target_values_{};                // each critic's (N x batch)
  Batch targets_;  // (N x batch), or what truncation keeps
  Batch kept_;     // the values they are made of, where they are truncated
  std::array<std::vector<float>, 2> all_values_;  // of one sample, for each half
  // what counts of this critic, 1 where it is the smaller and else 0 unless there is optimism:
  // (1 x batch) by the means, (N x batch) by the values
  std::array<Batch, 2> share_;
  std::array<const Batch*, 2> action_gradient_{};       // by the values (actions x batch)
  Batch q_gradient_;                                    // (actions x batch): of the smaller value
  std::array<double, 2> critic_loss_{}, actor_loss_{};  // of each critic, of each half
};

}  // namespace ovde
