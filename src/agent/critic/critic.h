// The two critics of a learner. Critic: one of them as the learner sees it, the distribution of the
// return at (s, a) as N values, and the steps of an update that concern it. CriticPair: both as
// acting sees them, at one (s, a). How the values come about is the head's own affair
// (quantile_critic.h, iqn_critic.h).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include <ovde/explorer.h>
#include "agent/equations.h"
#include "agent/learning.h"
#include "base/team.h"
#include "nn/adam.h"
#include "nn/batch.h"

namespace ovde {

// Each critic owns all it works on, so that two threads may work on one each.
class Critic {
 public:
  virtual ~Critic() = default;

  // Steps of update number `update` (from 0), which numbers what they draw at random: both critics
  // draw the same. Each result stays valid until the next update.

  // What the target network says at (s', a'): (N x batch).
  virtual const Batch& target_values(const Batch& next_state_action, std::uint64_t update) = 0;
  virtual const Batch* target_weights() const = 0;  // what each counts, as value_weights() says

  // One step of Adam on the loss, summed over samples with `weight` (1 x batch), against targets
  // made of the last target_values(); then target network += polyak * (network - target network).
  // Returns the loss.
  virtual double learn(const Batch& state_action, const Batch& targets, const Batch& weight,
                       float polyak, std::uint64_t update) = 0;

  // The values at (s, a), and their mean. `differentiate`: action_gradient() will be asked.
  virtual void evaluate(const Batch& state_action, bool differentiate, std::uint64_t update) = 0;
  virtual const Batch& values() const = 0;         // (N x batch)
  virtual const Batch* value_weights() const = 0;  // what each counts, N in all; null: all alike
  virtual const Batch& mean() const = 0;           // (1 x batch)

  // `chosen` (1 x batch), 1, 0 or between, times d mean / d action (actions x batch) at the last
  // evaluate().
  // Blocks that do not overlap may be worked on side by side.
  virtual const Batch& action_gradient(const Batch& chosen, Blocks blocks) = 0;

  // The same of sum_i w_i chosen_i z_i / N, with `chosen` (N x batch) likewise for each value and w
  // their weights; `state_action` as it was given to evaluate(), which need not differentiate.
  virtual const Batch& action_gradient_by_value(const Batch& state_action, const Batch& chosen) = 0;

  // All that an update changes; after writing into it call restored().
  virtual Trained& network() = 0;
  virtual void restored() = 0;

  // Multiply-adds, counted as two, of the matrix products of target_values() with learn(), of
  // evaluate() and of action_gradient(), or action_gradient_by_value().
  virtual double learning_flop() const = 0;
  virtual double evaluation_flop() const = 0;
  virtual double action_gradient_flop(bool by_value) const = 0;
};

using CriticArray = std::array<std::unique_ptr<Critic>, 2>;

// The value that an actor climbs: both critics at its actions, blended into one value, and its
// gradient by the action. Calls with `half` concern one fixed half of the batch (half_blocks) and
// may run side by side for both.
class ActorValue {
 public:
  ActorValue(const LearnerOptions& options, Minimum minimum, CriticArray& critics);

  // Evaluates both critics at (s, a). `differentiates`: the gradient will be asked for.
  void evaluate(const Batch& state_action, bool differentiates, std::uint64_t update, Team& team);

  // own_loss less the sum over samples of weight * value, the value being the blend of the critics'
  // means (Eq. 6), or the mean of the blended quantiles.
  double loss(double own_loss, const Blend& blend, const Batch& weight, int half);

  // d value / d action (actions x batch) of the blend of the last loss(): after both halves' loss()
  // differentiate(), then gradient() for each half.
  void differentiate(const Batch& state_action, Team& team);
  const Batch& gradient(int half);

 private:
  template <typename Mask>
  void note_shares(const Blend& blend, Mask first_is_smaller, int block, int row, int lane);

  CriticArray& critics_;
  Minimum minimum_;
  // The share of each critic in the value: (1 x batch) in its mean, (N x batch) in its quantiles.
  std::array<Batch, 2> share_;
  std::array<const Batch*, 2> by_value_{};  // each critic's part of the gradient, by quantiles
  Batch gradient_;
};

// Both as acting sees them.
class CriticPair : public Critics {
 public:
  // The team that evaluates the two critics side by side from now on; null:
  // one after the other.
  void use(Team* team) { team_ = team; }

  // Takes over the critics' parameters; call it again when they have changed.
  virtual void load(std::span<const float> first, std::span<const float> second) = 0;

 protected:
  template <typename Work>
  void for_each_critic(Work&& work) {
    if (team_) {
      team_->run(2, work);
    } else {
      work(0);
      work(1);
    }
  }
  static void check_finite(const QuantilePair& quantiles);

 private:
  Team* team_ = nullptr;
};

// Critic number k (0 or 1) of a new learner, and the pair for acting with its two critics.
std::unique_ptr<Critic> make_critic(const LearnerOptions& options, int k);
std::unique_ptr<CriticPair> make_critic_pair(const LearnerOptions& options);

}  // namespace ovde
