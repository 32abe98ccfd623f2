// Agents with residual networks that differ in their seeds and explorers alone: one group is
// computed together. Plain structures that host and device code share.
#pragma once

#include <cstdint>

#include "agent/options.h"
#include "cuda/agent.h"
#include "cuda/residual/shape.h"

namespace ovde::cuda::residual {

// The constants of a group; each agent has a seed of its own (GroupMemory).
struct GroupSpec : LearnerNumbers {
  int agents;
  bool scouts;  // second learners, which share their agents' replay buffers and act in their place
  LogStdForm log_std;
  ResidualShape actor_shape, critic_shape;

  OVDE_BOTH int batch() const { return train.batch; }
  // a' is drawn from the target policy, not from the current one.
  bool has_target_policy() const { return distributional && train.target_policy; }
  // A critic's values.
  OVDE_BOTH float value(int i) const {
    return critic.low + i * (critic.high - critic.low) / (critic.atoms - 1);
  }
};

// The memory of a group: one matrix for each agent, one after the other.
struct GroupMemory {
  const std::uint64_t* seeds;
  float* const* replay;  // each agent's rows, in the format of agent/replay.h
  int replay_stride;
  Progress* progress;

  // (s, a) above (s', a'); (s, new a); s above s'; s': rows of the input layers' strides
  float *critic_input, *new_input, *actor_input, *next_input;
  float *reward, *continues;                      // batch
  float *action, *spread, *raw_log_std;           // batch x actions: the policy's at s
  float *log_probability, *next_log_probability;  // batch
  float* mean[2];                                 // each critic's at (s, new a)
  float *critic_loss[2], *actor_loss;             // batch
  float* next_quantiles[2];  // batch x quantiles: the target critics' at (s', a'), for a bonus
};

}  // namespace ovde::cuda::residual
