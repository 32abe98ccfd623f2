// The critic with fixed fractions (head "qr"): one network whose N outputs are the quantiles at the
// midpoints (i - 0.5) / N. SAC's critic is the case of one output with squared loss.
#pragma once

#include <array>
#include <vector>

#include "agent/critic/critic.h"
#include "nn/mlp.h"
#include "nn/single.h"

namespace ovde {

MlpShape quantile_critic_shape(const LearnerOptions& options);

class QuantileCritic final : public Critic {
 public:
  QuantileCritic(const LearnerOptions& options, int k);

  const Batch& target_values(const Batch& next_state_action, std::uint64_t update) override;
  const Batch* target_weights() const override { return nullptr; }
  double learn(const Batch& state_action, const Batch& targets, const Batch& weight, float polyak,
               std::uint64_t update) override;
  void evaluate(const Batch& state_action, bool differentiate, std::uint64_t update) override;
  const Batch& values() const override { return activations_.output(); }
  const Batch* value_weights() const override { return nullptr; }
  const Batch& mean() const override { return mean_; }
  const Batch& action_gradient(const Batch& share, Blocks blocks) override;
  const Batch& action_gradient_by_value(const Batch& state_action, const Batch& share) override;

  Trained& network() override { return net_; }
  void restored() override;

  double learning_flop() const override;
  double evaluation_flop() const override { return 2.0 * batch_ * shape_.products(); }
  double action_gradient_flop(bool by_value) const override;

 private:
  MlpShape shape_;
  bool distributional_;
  int batch_;
  AdamOptions adam_;
  std::vector<float> fractions_;

  Trained net_;
  Mlp online_, target_;
  Activations activations_, target_activations_;
  Deltas deltas_;
  Buffer gradient_;
  GradientScratch scratch_;
  // d mean(z) / d last hidden layer: the last layer's weights averaged over the quantiles
  Buffer mean_weights_;
  Batch mean_, action_gradient_;
};

class QuantileCriticPair final : public CriticPair {
 public:
  QuantileCriticPair(const MlpShape& shape, int observation_size, const UncertaintyForm& form = {});

  void load(std::span<const float> first, std::span<const float> second) override;
  const QuantilePair& quantiles(std::span<const float> observation, std::span<const float> action,
                                Random& random) override;
  void action_gradient(const QuantilePair& quantile_gradient, std::span<double> gradient) override;

 private:
  int observation_size_;
  std::array<SinglePass, 2> pass_;
  QuantilePair quantiles_;
  struct Gradients {
    std::vector<float> output, input;
  };
  std::array<Gradients, 2> gradients_;
};

}  // namespace ovde
