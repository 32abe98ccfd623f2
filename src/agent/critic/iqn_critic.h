// The critic with random fractions (head "iqn"): an implicit quantile network, asked at fractions
// that every update draws anew for every sample, a set each for targets, predictions and the
// policy's own actions.
#pragma once

#include "agent/critic/critic.h"
#include "agent/critic/fractions.h"
#include "nn/iqn.h"

namespace ovde {

IqnShape iqn_critic_shape(const LearnerOptions& options);

class IqnCritic final : public Critic {
 public:
  IqnCritic(const LearnerOptions& options, int k);

  const Batch& target_values(const Batch& next_state_action, std::uint64_t update) override;
  double learn(const Batch& state_action, const Batch& targets, const Batch& weight, float polyak,
               std::uint64_t update) override;
  void evaluate(const Batch& state_action, bool differentiate, std::uint64_t update) override;
  const Batch& values() const override { return values_; }
  const Batch* value_weights() const override { return &fractions_.weight; }
  const Batch& mean() const override { return mean_; }
  const Batch& action_gradient(const Batch& chosen, Blocks blocks) override;

  Trained& network() override { return net_; }
  void restored() override;

  double learning_flop() const override;
  double evaluation_flop() const override;
  double action_gradient_flop() const override;

 private:
  void average(int block);

  IqnShape shape_;
  std::uint64_t seed_;
  AdamOptions adam_;

  Trained net_;
  Iqn online_, target_;
  Fractions fractions_, target_fractions_;
  IqnActivations activations_, target_activations_;  // of one block
  IqnDeltas deltas_;
  Batch values_, target_values_, value_gradient_;  // (N x batch)
  Buffer gradient_;
  Batch mean_;                               // (1 x batch)
  Batch action_gradient_, chosen_gradient_;  // (actions x batch): of the mean, of the chosen
};

}  // namespace ovde
