// The critics of a learner: one of them on batches, the distribution of the return at (s, a) as N
// values (Critic); both as the value that an actor climbs (ActorValue); both at one (s, a), for
// acting (CriticPair). Its kinds are quantile_critic.h, iqn_critic.h and categorical_critic.h.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include <ovde/explorer.h>
#include "agent/critic/uncertainty.h"
#include "agent/learning.h"
#include "agent/replay.h"

namespace ovde {

// The values that the targets are made of: both target critics' at (s', a'), (N x batch) each.
struct TargetValues {
  const Batch *first, *second;
  const Batch* weights;  // weight of each value, N in all; null: 1
  // the probabilities of categorical critics' values (n x batch); null: there are none
  std::array<const Batch*, 2> probabilities = {};
};

// Access to the quantiles of a QuantilePair.
struct PairQuantiles {
  int size() const { return z.size(); }
  double value(int critic, int i) const { return z.critic[critic][i]; }
  double weight(int i) const { return z.weight[i]; }
  const UncertaintyForm& form() const { return z.form; }
  const QuantilePair& z;
};

// Compiled once, in critic.cpp: the last bits depend on how the compiler fuses multiplications and
// additions.
extern template Uncertainty uncertainty(const OneThread&, const PairQuantiles&);

inline double mean_difference(const QuantilePair& z) {
  return mean_difference(OneThread{}, PairQuantiles{z});
}

// Copies sample s of both critics' values and, unless null, of their weights (N x batch).
void take_sample(const Batch& first, const Batch& second, const Batch* weights, int s,
                 QuantilePair& z);

// Each critic owns its memory, so that two threads may work on one each. `update` is the number of
// the update (from 0), which addresses its random numbers: both critics draw the same. Each result
// stays valid until the next update.
class Critic {
 public:
  virtual ~Critic() = default;

  // The target network's values at (s', a'), (N x batch). `transitions`: (s, a) and (s', a').
  virtual const Batch& target_values(const BatchPair& transitions, std::uint64_t update) = 0;
  virtual const Batch* target_weights() const { return nullptr; }        // as value_weights()
  virtual const Batch* target_probabilities() const { return nullptr; }  // see TargetValues

  // Writes the targets of both critics (Eq. 4) for the samples of `blocks`, given the values of the
  // target critics and their blend.
  virtual void fill_targets(const ReplayBatch& batch, const TargetValues& values, float alpha,
                            const Batch& log_probability, const Blend& blend, Batch& targets,
                            Blocks blocks) const {
    batch.fill_targets(*values.first, *values.second, alpha, &log_probability, targets, blocks,
                       blend);
  }

  // One step of Adam on the loss at (s, a), summed over samples with `weight` (1 x batch), then
  // target network += polyak * (network - target network). Returns the loss.
  virtual double learn(const BatchPair& transitions, const Batch& targets, const Batch& weight,
                       float polyak, std::uint64_t update) = 0;

  // The values at (s, a) and their mean. `differentiate`: action_gradient() will be called.
  virtual void evaluate(const Batch& state_action, bool differentiate, std::uint64_t update) = 0;
  virtual const Batch& values() const = 0;  // (N x batch)
  // The weight of each in a mean (N x batch), N in all; null: 1 each.
  virtual const Batch* value_weights() const { return nullptr; }
  virtual const Batch& mean() const = 0;  // (1 x batch)

  // share (1 x batch) * d mean / d action (actions x batch) at the last evaluate(). Different
  // blocks may be computed side by side.
  virtual const Batch& action_gradient(const Batch& share, Blocks blocks) = 0;

  // The gradient of sum_i w_i share_i z_i / N, with share (N x batch) and the weights w;
  // `state_action` as it was given to evaluate(), which need not differentiate.
  virtual const Batch& action_gradient_by_value(const Batch& state_action, const Batch& share) = 0;

  // The network and its target network. After writing into them call restored().
  virtual Trained& network() = 0;
  virtual void restored() = 0;
  // The parameters that CriticPair::load() takes.
  virtual std::span<const float> acting_parameters() const = 0;

  // Multiply-adds, counted as two, of the matrix products of target_values() with learn(), of
  // evaluate() and of action_gradient(), or action_gradient_by_value().
  virtual double learning_flop() const = 0;
  virtual double evaluation_flop() const = 0;
  virtual double action_gradient_flop(bool by_value) const = 0;
};

// A critic whose values follow from the outputs of one network.
class NetworkCritic : public Critic {
 public:
  const Batch& mean() const override { return mean_; }

  Trained& network() override { return network_->trained(); }
  void restored() override { network_->restored(); }
  std::span<const float> acting_parameters() const override {
    return network_->acting_parameters();
  }

  double learning_flop() const override { return network_->learning_flop(); }
  double evaluation_flop() const override { return network_->evaluation_flop(); }

 protected:
  NetworkCritic(const LearnerOptions& options, int outputs, int k)
      : network_(make_critic_network(options, outputs, k)),
        mean_(1, options.train.batch),
        adam_(options.train.adam) {}

  // One step of Adam, once the gradient of the outputs is in network_->output_gradient().
  void step(const BatchPair& transitions, float polyak, std::uint64_t update) {
    network_->backward(transitions, alone_);
    network_->step(adam_.at(update), update + 1, polyak, alone_);
  }

  std::unique_ptr<Network> network_;
  Team alone_{1};  // each critic runs on one thread
  Batch mean_;     // (1 x batch)

 private:
  AdamOptions adam_;
};

using CriticArray = std::array<std::unique_ptr<Critic>, 2>;

// The value that an actor climbs: both critics at its actions, blended into one value, and its
// gradient by the action. Calls with `half` concern one fixed half of the batch (half_blocks) and
// may run side by side for both.
class ActorValue {
 public:
  ActorValue(const LearnerOptions& options, Minimum minimum, CriticArray& critics);

  // Evaluates both critics at (s, a). `differentiates`: gradient() will be called.
  void evaluate(const Batch& state_action, bool differentiates, std::uint64_t update, Team& team);

  // own_loss less the sum over samples of weight * value, the value being the blend of the critics'
  // means (Eq. 6), or the mean of the blended quantiles.
  double loss(double own_loss, const Blend& blend, const Batch& weight, int half);

  // d value / d action (actions x batch): after loss() of both halves call differentiate(), then
  // gradient() for each half.
  void differentiate(const Batch& state_action, Team& team);
  const Batch& gradient(int half);

 private:
  template <typename Mask>
  void note_shares(const Blend& blend, Mask first_is_smaller, int block, int row, int lane);

  CriticArray& critics_;
  Minimum minimum_;
  // The share of each critic in the value: (1 x batch) in its mean, (N x batch) in its quantiles.
  std::array<Batch, 2> share_;
  std::array<const Batch*, 2> by_value_{};  // each critic's part of the gradient
  Batch gradient_;
};

// Both critics at one (s, a).
class CriticPair : public Critics {
 public:
  // The team that evaluates the two critics side by side from now on; null: none.
  virtual void use(Team* team) { team_ = team; }

  // Copies the critics' parameters.
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

// Critic number k (0 or 1) of a new learner, and the pair for acting.
std::unique_ptr<Critic> make_critic(const LearnerOptions& options, int k);
std::unique_ptr<CriticPair> make_critic_pair(const LearnerOptions& options);

}  // namespace ovde
