// The actor of SAC and its kin: a squashed Gaussian whose entropy is rewarded, by a temperature
// that is learnt too.
#pragma once

#include <array>

#include "agent/actor_critic/actor.h"
#include "agent/actor_critic/squashed_gaussian.h"

namespace ovde {

class GaussianActor final : public Actor {
 public:
  explicit GaussianActor(const LearnerOptions& options);

  void act(const Batch& observation, const Batch& weight, std::uint64_t update, int half) override;
  Actions actions() const override { return {sampled_.action, sampled_.log_probability}; }
  void act_next(const Batch& next_observation, std::uint64_t update, int half) override;
  Actions next_actions() const override { return {next_.action, next_.log_probability}; }

  void update_temperature(std::uint64_t update) override;
  std::optional<float> temperature() const override { return alpha_; }

  double own_loss(int half) const override { return alpha_ * log_probability_[half]; }
  void differentiate(const Batch& observation, const Batch& q_gradient, const Batch& weight,
                     int half) override;
  void step(std::uint64_t step, Team& team) override { network_.step(adam_, step, polyak_, team); }
  int delay() const override { return 1; }

  BatchNetwork& network() override { return network_; }
  StateArrays more_state() override { return {{"log_alpha", log_alpha_}}; }
  void restored() override;

 private:
  std::uint64_t seed_;
  AdamOptions adam_;
  float polyak_;
  BatchNetwork network_;
  std::array<float, 3> log_alpha_;  // value and its two moments
  float alpha_ = 1;

  SampledActions sampled_, next_;
  std::array<double, 2> log_probability_{};  // of each half: sum of weight * log pi
};

}  // namespace ovde
