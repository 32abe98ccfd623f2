// The categorical critic (head "categorical"): a softmax over equally spaced values, which learns
// the distribution of the return by cross-entropy. Explorers see it as N quantiles.
#pragma once

#include <array>
#include <vector>

#include "agent/critic/critic.h"
#include "agent/critic/loss.h"
#include "agent/critic/quantile_critic.h"

namespace ovde {

class CategoricalCritic final : public NetworkCritic {
 public:
  CategoricalCritic(const LearnerOptions& options, int k);

  const Batch& target_values(const BatchPair& transitions, std::uint64_t update) override;
  const Batch* target_probabilities() const override { return &target_probabilities_; }

  // Projects the return of each sample onto the values (n x batch). Its distribution is that of the
  // target critics, each with its share in the blend: by default that of the smaller mean alone. Of
  // targets that an extension chose, each has the same probability.
  void fill_targets(const ReplayBatch& batch, const TargetValues& values, float alpha,
                    const Batch& log_probability, const Blend& blend, Batch& targets,
                    Blocks blocks) const override;
  double learn(const BatchPair& transitions, const Batch& targets, const Batch& weight,
               float polyak, std::uint64_t update) override;

  void evaluate(const Batch& state_action, bool differentiate, std::uint64_t update) override;
  const Batch& values() const override { return values_; }
  const Batch& action_gradient(const Batch& share, Blocks blocks) override;
  const Batch& action_gradient_by_value(const Batch& state_action, const Batch& share) override;
  double action_gradient_flop(bool) const override { return network_->input_gradient_flop(false); }

 private:
  void fill_quantiles(const Batch& probabilities, Batch& quantiles);

  Support support_;
  Batch probabilities_, target_probabilities_;  // (n x batch)
  Batch values_, target_values_;                // (N x batch)
  std::vector<double> sample_, quantiles_;      // one sample's probabilities and quantiles
};

class CategoricalCriticPair final : public CriticPair {
 public:
  explicit CategoricalCriticPair(const LearnerOptions& options);

  void use(Team* team) override { logits_.use(team); }
  void load(std::span<const float> first, std::span<const float> second) override {
    logits_.load(first, second);
  }
  const QuantilePair& quantiles(std::span<const float> observation, std::span<const float> action,
                                Random& random) override;
  void action_gradient(const QuantilePair& quantile_gradient, std::span<double> gradient) override;

 private:
  Support support_;
  QuantileCriticPair logits_;
  QuantilePair quantiles_, by_logit_;
  std::array<std::vector<double>, 2> probabilities_;
};

}  // namespace ovde
