// The critic with fixed fractions (head "qr"): one network whose N outputs are the quantiles at the
// midpoints (i - 0.5) / N. SAC's critic is the case of one output with squared loss.
#pragma once

#include <array>
#include <vector>

#include "agent/critic/critic.h"
#include "nn/single.h"

namespace ovde {

class QuantileCritic final : public NetworkCritic {
 public:
  QuantileCritic(const LearnerOptions& options, int k);

  const Batch& target_values(const BatchPair& transitions, std::uint64_t update) override;
  double learn(const BatchPair& transitions, const Batch& targets, const Batch& weight,
               float polyak, std::uint64_t update) override;
  void evaluate(const Batch& state_action, bool differentiate, std::uint64_t update) override;
  const Batch& values() const override { return *values_; }
  const Batch& action_gradient(const Batch& share, Blocks blocks) override;
  const Batch& action_gradient_by_value(const Batch& state_action, const Batch& share) override;
  double action_gradient_flop(bool by_value) const override;

 private:
  bool distributional_;
  std::vector<float> fractions_;
  const Batch* values_;
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
