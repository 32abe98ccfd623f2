// A bonus for new observations in the rewards of an update: random network distillation (Rnd), and
// how much of it is left where the return is noisy (NoiseDiscount). It is never stored and never
// evaluated.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "agent/actor_critic/extension.h"
#include "nn/mlp_network.h"

namespace ovde {

// The share of a bonus that is left where the return is noisy: novelty that nothing can be learnt
// from is not interesting. The aleatoric uncertainty counts relative to its mean over the batch, so
// that neither a scale of rewards nor a state is needed.
class NoiseDiscount {
 public:
  explicit NoiseDiscount(const LearnerOptions& options);

  // Measures the aleatoric uncertainty of one half of the batch, by both critics' values. The
  // halves may be measured side by side.
  void measure(const TargetValues& values, int half);
  // Computes the shares, once both halves have been measured.
  void compare();
  // The share of each sample's bonus (1 x batch).
  const Batch& share() const { return share_; }

 private:
  double tolerance_;
  std::vector<double> aleatoric_;
  Batch share_;
  std::array<QuantilePair, 2> quantiles_;  // one sample's, for each half
};

// Random network distillation (Burda et al., 2019): an observation is new where a trained network
// does not yet predict the output of a fixed random network.
class Rnd final : public Extension {
 public:
  explicit Rnd(const LearnerOptions& options);

  // Adds the bonus, by the calls below.
  void change_rewards(const Update& update, const TargetValues& values) override;

  // Follows the transitions that were added since the last call, in their order: the moments of the
  // next observations and, where the bonus is not relative, those of the intrinsic return, which
  // is the discounted sum of the prediction errors so far, across episodes.
  void observe(const Replay& replay);

  // The prediction errors of one half of the batch: the mean of squares over the random network's
  // outputs. Leaves the gradient of their mean over the batch for step().
  void predict(const Batch& next_observation, const Batch& weight, int half);

  // Step number `step` (from 1) of the predictor.
  void step(std::uint64_t step, Team& team);

  // reward (1 x batch) += scale * share * error / std of the intrinsic return, with the errors of
  // the last predict() of both halves and share (1 x batch); null: 1. A relative bonus is
  // scale * (1 - discount) * share * error / mean error: the discounted sum of average bonuses is
  // `scale`.
  void add_bonus(const Batch* share, Batch& reward) const;

  void add_state(LearnerState& state) override;
  void restored() override;
  double flop_per_update() const override;

 private:
  void observe(const Replay& replay, std::int64_t first, int count);
  void compare(const Batch& next_observation, int half);
  void follow_moments();
  float bonus_per_error() const;

  RndOptions options_;
  AdamOptions adam_;
  double discount_;
  MlpNetwork network_;  // the predictor; its target network is the random one, never averaged
  Batch input_;         // (observations x batch), normalised
  Batch error_;         // (1 x batch)
  std::optional<NoiseDiscount> noise_;

  double next_row_ = 0;  // number of the first transition not yet observed
  double return_ = 0;    // the intrinsic return so far
  RunningMoments observations_, returns_;

  // normalise an observation and an error: computed from the moments
  std::vector<float> center_, scale_;
  float bonus_scale_ = 0;
};

}  // namespace ovde
