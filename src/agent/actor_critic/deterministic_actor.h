// TD3's actor (Fujimoto et al., 2018): tanh of the network's output, without noise or entropy. Its
// targets come from a target policy whose actions are smoothed by clipped noise, and it moves, with
// all target networks, less often than the critics learn.
#pragma once

#include "agent/actor_critic/actor.h"

namespace ovde {

class DeterministicActor final : public Actor {
 public:
  explicit DeterministicActor(const LearnerOptions& options);

  void act(const Batch& observation, const Batch& weight, std::uint64_t update, int half) override;
  Actions actions() const override { return {action_, log_probability_}; }
  void act_next(const Batch& next_observation, std::uint64_t update, int half) override;
  Actions next_actions() const override { return {next_action_, log_probability_}; }

  void update_temperature(std::uint64_t) override {}
  std::optional<float> temperature() const override { return {}; }

  double own_loss(int half) const override { return penalty_[half]; }
  void differentiate(const Batch& observation, const Batch& q_gradient, const Batch& weight,
                     int half) override;
  void step(std::uint64_t step, Team& team) override { network_.step(adam_, step, polyak_, team); }
  int delay() const override { return options_.delay; }

  BatchNetwork& network() override { return network_; }
  StateArrays more_state() override { return {}; }
  void restored() override { network_.restored(); }

 private:
  std::uint64_t seed_;
  AdamOptions adam_;
  float polyak_;
  Td3Options options_;
  BatchNetwork network_;

  Batch action_, next_action_;
  Batch noise_;            // (actions x batch)
  Batch log_probability_;  // (1 x batch): zero, nothing is drawn
  double penalty_[2] = {};
};

}  // namespace ovde
