// Random network distillation (Burda et al., 2019): a bonus for next observations that are new. New
// is where a trained network does not yet predict what a fixed random network puts out. The bonus
// belongs to the rewards of an update; it is never stored and never evaluated.
#pragma once

#include <span>
#include <vector>

#include "agent/learning.h"
#include "agent/replay.h"
#include "agent/running_moments.h"
#include "nn/batch_network.h"

namespace ovde {

class Rnd {
 public:
  explicit Rnd(const LearnerOptions& options);

  // Follows the transitions that were added since the last call, in their order: the moments of the
  // next observations, and, where the bonus is not relative, those of the intrinsic return, which
  // is the discounted sum of the prediction errors so far, across episodes.
  void observe(const Replay& replay);

  // The prediction errors of one half of the batch: the mean of squares over the random network's
  // outputs. Leaves the gradient of their mean over the batch for step().
  void predict(const Batch& next_observation, const Batch& weight, int half);

  // Step number `step` (from 1) of the predictor.
  void step(std::uint64_t step, Team& team);

  // reward (1 x batch) += scale * share * error / std of the intrinsic return, with the errors of
  // the last predict() of both halves and share (1 x batch); null: 1. A relative one is
  // scale * (1 - discount) * share * error / their mean: in every state the usual one, it is worth
  // `scale` in all.
  void add_bonus(const Batch* share, Batch& reward) const;

  void add_state(LearnerState& state);
  void restored();

  // Multiply-adds, counted as two, of the matrix products of an update.
  double flop_per_update() const;

 private:
  void observe(const Replay& replay, std::int64_t first, int count);
  void compare(const Batch& next_observation, int half);
  void follow_moments();
  float bonus_per_error() const;

  RndOptions options_;
  AdamOptions adam_;
  double discount_;
  BatchNetwork network_;  // the predictor; its target network is the random one, never averaged
  Batch input_;           // (observations x batch), normalised
  Batch error_;           // (1 x batch)

  double next_row_ = 0;  // number of the first transition not yet observed
  double return_ = 0;    // the intrinsic return so far
  RunningMoments observations_, returns_;

  // what normalises an observation and an error: follows from the moments
  std::vector<float> center_, scale_;
  float bonus_scale_ = 0;
};

}  // namespace ovde
