// The learner over a grid of actions: two Q-networks and the update that changes them. No actor, no
// temperature. Knows nothing of how actions are chosen.
//
// An update is cut into fixed pieces (critic, half batch) that a Team of any size runs: the bits of
// the result do not depend on the number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "agent/discrete/grid_critic.h"
#include "agent/learning.h"
#include "agent/replay_batch.h"
#include "base/team.h"

namespace ovde {

class DiscreteLearner {
 public:
  DiscreteLearner(const LearnerOptions& options, const ActionGrid& grid);

  UpdateReport update(const Replay& replay, Team& team);

  // Of the last update's batch: the target networks at the greedy actions at s'.
  ValueReport value_report() const;

  const MlpShape& critic_shape() const { return critics_[0].shape(); }
  std::span<const float> critic(int k) const { return critics_[k].network().parameters; }
  std::uint64_t updates() const { return updates_; }

  LearnerState state();
  void restored();

  // Multiply-adds, counted as two, of the matrix products that one update performs.
  double flop_per_update() const { return critics_[0].flop() + critics_[1].flop(); }

 private:
  // the steps of an update, in their order
  void load_batch(const Replay& replay, Blocks blocks);
  void choose_next_actions(Blocks blocks);

  LearnerOptions options_;
  ActionGrid grid_;
  std::array<GridCritic, 2> critics_;
  std::uint64_t updates_ = 0;

  // the batch and what is computed on it
  ReplayBatch batch_;
  std::vector<int> action_, next_action_;  // numbers in the grid
  std::array<const Batch*, 2> next_means_{};
  Batch targets_;  // (N x batch)
  std::array<double, 2> loss_{};
};

}  // namespace ovde
