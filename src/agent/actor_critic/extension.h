// Additions of single methods to the learner's update, each in a file of its own: a bonus for new
// observations (bonus.h), truncated targets (truncation.h) and a second actor that explores
// (optimist.h). The learner calls the hooks below at fixed points and knows nothing else of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "agent/actor_critic/actor.h"
#include "agent/critic/critic.h"
#include "agent/learning.h"
#include "agent/replay.h"
#include "base/team.h"

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

// The extensions that the options ask for, in the order in which their state is saved.
std::vector<std::unique_ptr<Extension>> make_extensions(const LearnerOptions& options, Actor& actor,
                                                        CriticArray& critics);

}  // namespace ovde
