// A second learner beside that of an agent: it learns from the same transitions, with a bonus for
// what is new in its rewards, and acts in a share of the episodes. The agent's own learner never
// sees the bonus: what is evaluated and kept is the policy for the task alone.
#pragma once

#include <cstdint>
#include <span>

#include "agent/actor_critic/learner.h"
#include "agent/agent.h"

namespace ovde {

// Options of the agent's own learner: where there is a scout, it alone has the bonus.
LearnerOptions own_learner(const AgentOptions& options);

// Options of the scout's learner: the agent's, but for networks of its own size, random numbers of
// its own, and the bonus. Its policy explores itself.
LearnerOptions scout_learner(const AgentOptions& options);

// In front of the names of what it saves.
inline constexpr const char* kScout = "scout.";

class Scout {
 public:
  explicit Scout(const AgentOptions& options);

  // Its policy at one observation, as networks see it.
  void head(std::span<const double> input, ActorHead& head);

  void update(const Replay& replay, Team& team) { learner_.update(replay, team); }
  double flop_per_update() const { return learner_.flop_per_update(); }

  void add_state(LearnerState& state);
  // After `updates` updates; the agent's learner has done as many.
  void restored(std::uint64_t updates);

 private:
  Learner learner_;
  PolicyPass policy_;
  std::uint64_t loaded_ = ~std::uint64_t{0};  // number of updates in what policy_ holds
};

}  // namespace ovde
