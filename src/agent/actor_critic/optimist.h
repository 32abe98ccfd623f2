// A second actor on the critics of a learner, which explores in the policy's place (DAC; Nauman and
// Cygan, 2023). It climbs the critics' optimistic value and is held near the policy by a KL term;
// how optimistic it is and how firmly it is held are learnt, such that it stays at a given
// divergence. The policy and the critics never see it: they learn what they would without it.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "agent/actor_critic/gaussian_actor.h"
#include "agent/equations.h"
#include "agent/learning.h"
#include "base/team.h"
#include "nn/batch_network.h"

namespace ovde {

// In front of the names of what it saves.
inline constexpr const char* kOptimist = "optimist.";

// Of its two multipliers, which follow slowly and with little memory.
inline constexpr AdamOptions kMultiplierAdam = {.learning_rate = 3e-5f, .beta1 = 0.5f};

class Optimist {
 public:
  // It starts as a copy of the policy.
  Optimist(const LearnerOptions& options, const BatchNetwork& policy);

  // Steps of update number `update` (from 0), as those of an Actor.

  // Its actions at s, with noise of its own.
  void act(const Batch& observation, std::uint64_t update, int half);
  const Batch& action() const { return sampled_.action; }

  // How it counts two critics: (Q_1 + Q_2) / 2 + beta |Q_1 - Q_2| / 2.
  Blend blend() const { return blend_of(std::exp(log_optimism_[0]) - 1); }

  // The gradient of  sum over samples of weight * (tau KL(optimist || policy) - q)  at the last
  // act(), given dq/da (actions x batch) and what the policy's network put out at s.
  void differentiate(const Batch& observation, const Batch& policy_head, const Batch& q_gradient,
                     const Batch& weight, int half);
  // One step along it, and of beta and tau by the divergence that was found.
  void step(std::uint64_t update, Team& team);

  // At the end of the update: every so many it starts again from the policy.
  void end_update(std::uint64_t update, const BatchNetwork& policy);

  const BatchNetwork& network() const { return network_; }

  void add_state(LearnerState& state);
  void restored() { network_.restored(); }

 private:
  void start_from(const BatchNetwork& policy);
  // Adam's, since it last started.
  std::uint64_t step_number(std::uint64_t update) const;

  DacOptions options_;
  std::uint64_t seed_;
  AdamOptions adam_;
  BatchNetwork network_;
  std::array<float, 3> log_optimism_, log_weight_;  // log(beta + 1), log tau, with their moments

  SampledActions sampled_;
  std::array<double, 2> divergence_{};  // of each half: sum of weight * KL
};

}  // namespace ovde
