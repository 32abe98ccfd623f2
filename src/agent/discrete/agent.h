// The agent over a grid of actions: two Q-networks, the update that changes them, and
// information-directed sampling, by which it explores. It acts greedily in the mean; there is no
// actor and no temperature. An update is cut into fixed pieces as in
// agent/actor_critic/learner.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "agent/agent.h"
#include "agent/critic/quantile_critic.h"
#include "agent/discrete/grid_critic.h"
#include "agent/discrete/ids.h"

namespace ovde {

class DiscreteLearner {
 public:
  DiscreteLearner(const LearnerOptions& options, const ActionGrid& grid);

  UpdateReport update(const Replay& replay, Team& team);

  // The target networks at the last update's batch, at the greedy actions at s'.
  ValueReport value_report() const;

  const MlpShape& critic_shape() const { return critics_[0].shape(); }
  std::span<const float> critic(int k) const { return critics_[k].network().parameters; }
  std::uint64_t updates() const { return updates_; }

  LearnerState state();
  void restored();

  double flop_per_update() const { return critics_[0].flop() + critics_[1].flop(); }

 private:
  void load_batch(const Replay& replay, Blocks blocks);
  void choose_next_actions(Blocks blocks);

  LearnerOptions options_;
  ActionGrid grid_;
  std::array<GridCritic, 2> critics_;
  std::uint64_t updates_ = 0;

  // the batch and its results
  ReplayBatch batch_;
  std::vector<int> action_, next_action_;  // numbers in the grid
  std::array<const Batch*, 2> next_means_{};
  Batch targets_;  // (N x batch)
  std::array<double, 2> loss_{};
};

// Information-directed sampling on a CPU.
class Ids {
 public:
  Ids(double lambda, int actions, int quantiles)
      : rule_{lambda}, quantiles_(quantiles), arms_(actions) {}

  // The number of the action with the smallest regret^2 / information; of equals the first. z: the
  // N quantiles of the first action, then those of the second, ...
  int choose(const QuantilePair& z);

 private:
  IdsArm arm(const QuantilePair& z, int action) const;

  IdsRule rule_;
  int quantiles_;
  std::vector<IdsArm> arms_;
};

class DiscreteAgent final : public Agent, private HostSide {
 public:
  explicit DiscreteAgent(const AgentOptions& options);

  void use(Team* team) override { critics_.use(team); }

  void act(std::span<const double> observation, std::span<double> action) override;
  // The action that the rule chooses; with `plain`, each with equal probability.
  Decision explore(std::span<const double> observation, bool plain,
                   std::span<double> action) override;

  UpdateReport update(Team& team) override { return learner_.update(replay(), team); }
  ValueReport value_report() const override { return learner_.value_report(); }
  std::uint64_t updates() const override { return learner_.updates(); }
  double flop_per_update() const override { return learner_.flop_per_update(); }
  LearnerState state() override;
  void restored() override;
  void policy_restored() override {}  // act() reads the networks of the state
  PolicyContents policy() const override;
  HostSide& host_side() override { return *this; }

 private:
  Proposal propose(std::span<const float> input, bool plain) override;
  Decision decide(const Proposal& proposal, bool plain, std::span<double> action) override;

  void load_networks();

  ActionGrid grid_;
  DiscreteLearner learner_;
  Ids rule_;
  GreedyPass greedy_;
  QuantileCriticPair critics_;                // the quantiles of all actions at a state
  std::uint64_t loaded_ = ~std::uint64_t{0};  // number of updates of the parameters for acting
  std::vector<float> input_;
};

}  // namespace ovde
