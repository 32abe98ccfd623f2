// The critic whose fractions are an input: an implicit quantile network. Every update draws new
// fractions for every sample, one set each for targets, predictions and the policy's actions (head
// "iqn"), or they are fixed (head "embedded").
#pragma once

#include <array>
#include <cstdint>

#include "agent/critic/critic.h"
#include "nn/iqn.h"

namespace ovde {

// The midpoints of N intervals of random width that make up [0, 1], for every sample.
struct Fractions {
  Fractions(int count, int samples) : midpoint(count, samples), weight(count, samples) {}
  Batch midpoint;  // (N x batch): tau
  Batch weight;    // (N x batch): width of the interval times N
};

// Draws the set addressed by (update, purpose).
void draw_fractions(std::uint64_t seed, std::uint64_t update, FractionsFor purpose,
                    Fractions& fractions);

// Makes the intervals of numbers U(0, 1) in `weight`: widths proportional to U + kNarrowest.
void cut_interval(Fractions& fractions);

IqnShape iqn_critic_shape(const LearnerOptions& options);

class IqnCritic final : public Critic {
 public:
  IqnCritic(const LearnerOptions& options, int k);

  const Batch& target_values(const BatchPair& transitions, std::uint64_t update) override;
  double learn(const BatchPair& transitions, const Batch& targets, const Batch& weight,
               float polyak, std::uint64_t update) override;
  void evaluate(const Batch& state_action, bool differentiate, std::uint64_t update) override;
  const Batch& values() const override { return values_; }
  const Batch* target_weights() const override {
    return weights_ == QuantileWeights::widths ? &target_fractions_.weight : nullptr;
  }
  const Batch* value_weights() const override {
    return weights_ == QuantileWeights::widths ? &fractions_.weight : nullptr;
  }
  const Batch& mean() const override { return mean_; }
  const Batch& action_gradient(const Batch& share, Blocks blocks) override;
  const Batch& action_gradient_by_value(const Batch& state_action, const Batch& share) override;

  Trained& network() override { return net_; }
  void restored() override;
  std::span<const float> acting_parameters() const override { return net_.parameters; }

  double learning_flop() const override;
  double evaluation_flop() const override;
  double action_gradient_flop(bool by_value) const override;

 private:
  void average(int block);
  Vector share(int block, int i, int v) const;

  void choose_fractions(std::uint64_t update, FractionsFor purpose, Fractions& fractions) const;

  IqnShape shape_;
  bool random_;  // fractions are drawn
  std::uint64_t seed_;
  QuantileWeights weights_;
  AdamOptions adam_;

  Trained net_;
  Iqn online_, target_;
  Fractions fractions_, target_fractions_;
  IqnActivations activations_, target_activations_;  // one block's
  IqnDeltas deltas_;
  Batch values_, target_values_, value_gradient_;  // (N x batch)
  Buffer gradient_;
  Batch mean_;                               // (1 x batch)
  Batch action_gradient_, chosen_gradient_;  // (actions x batch); chosen: times its share
};

// Every call draws one set of fractions for both critics.
class IqnCriticPair final : public CriticPair {
 public:
  explicit IqnCriticPair(const LearnerOptions& options);

  void load(std::span<const float> first, std::span<const float> second) override;
  const QuantilePair& quantiles(std::span<const float> observation, std::span<const float> action,
                                Random& random) override;
  void action_gradient(const QuantilePair& quantile_gradient, std::span<double> gradient) override;

 private:
  // One critic: every lane of a block holds the same (s, a), and each lane of a row its own
  // fraction.
  struct Side {
    Iqn net;
    Buffer parameters;
    IqnActivations activations;
    IqnDeltas deltas;
    Batch values, value_gradient;  // (rows x kLanes)
    Batch input_gradient;          // (actions x kLanes)
  };

  int observation_size_;
  bool random_;  // fractions are drawn
  QuantileWeights weights_;
  Fractions fractions_;     // (N x 1)
  Batch input_, midpoint_;  // (inputs x kLanes), (rows x kLanes)
  std::array<Side, 2> side_;
  QuantilePair quantiles_;
};

}  // namespace ovde
