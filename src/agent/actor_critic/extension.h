// Additions of single methods to the update of a learner, each a file of its own: a bonus for new
// observations (bonus.h), truncated targets (truncation.h) and a second actor that explores
// (optimist.h). The learner makes them and calls their hooks at fixed points.
#pragma once

#include <cstdint>
#include <span>

#include "agent/actor_critic/actor.h"
#include "agent/critic/critic.h"

namespace ovde {

// The update in progress.
struct Update {
  std::uint64_t number;  // from 0
  const Replay& replay;
  ReplayBatch& batch;
  Team& team;
};

class Extension {
 public:
  virtual ~Extension() = default;

  // Changes the rewards of the batch, before the targets are made of them.
  virtual void change_rewards(const Update&, const TargetValues&) {}
  // Number of targets of a sample, `count` without this extension.
  virtual int target_count(int count) const { return count; }
  // Replaces the values for one half of the batch (half_blocks); may run side by side for both.
  virtual TargetValues choose_targets(const TargetValues& values, int /*half*/) { return values; }
  // Called after the step of the critics, before that of the actor.
  virtual void after_critics(const Update&) {}
  // Called at the end of the update.
  virtual void after_actor(const Update&) {}

  // Parameters of an actor that explores in the policy's place; empty: the policy explores.
  virtual std::span<const float> exploring_actor() const { return {}; }

  virtual void add_state(LearnerState&) {}
  virtual void restored() {}
  // Multiply-adds, counted as two, of the matrix products that it adds to an update.
  virtual double flop_per_update() const { return 0; }
};

}  // namespace ovde
