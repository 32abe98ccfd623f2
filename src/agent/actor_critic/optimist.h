// A second actor on the critics of a learner, which explores in the policy's place (DAC; Nauman and
// Cygan, 2023). It climbs the critics' optimistic value and is held near the policy by a KL term;
// how optimistic it is and how firmly it is held are learnt, so that it stays at a given
// divergence. The policy and the critics learn as they would without it.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "agent/actor_critic/extension.h"
#include "agent/actor_critic/gaussian_actor.h"

namespace ovde {

// Prefix of the names of its state.
inline constexpr const char* kOptimist = "optimist.";

// The optimiser of its two multipliers.
inline constexpr AdamOptions kMultiplierAdam = {.learning_rate = 3e-5f, .beta1 = 0.5f};

class Optimist final : public Extension {
 public:
  // It starts as a copy of the policy.
  Optimist(const LearnerOptions& options, Actor& policy, CriticArray& critics);

  // One step of it, by the critics just updated and the policy as it is before its own step.
  void after_critics(const Update& update) override;
  // Restarts it from the policy after every dac.copy_updates updates.
  void after_actor(const Update& update) override;

  std::span<const float> exploring_actor() const override { return network_->acting_parameters(); }

  void add_state(LearnerState& state) override;
  void restored() override { network_->restored(); }
  double flop_per_update() const override;

 private:
  void restart();
  void act(const Update& update, const Batch& head, int half);
  void differentiate(const Update& update, int half);
  void step(const Update& update);

  LearnerOptions options_;
  Network& policy_;
  CriticArray& critics_;
  std::unique_ptr<Network> network_;
  std::array<float, 3> log_optimism_, log_weight_;  // log(beta + 1), log tau, with their moments

  SampledActions sampled_;
  Batch state_action_;  // s above its actions there
  ActorValue value_;
  std::array<double, 2> divergence_{};  // sum of weight * KL, for each half
};

}  // namespace ovde
