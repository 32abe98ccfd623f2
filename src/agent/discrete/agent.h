// The agent over a grid of actions: two Q-networks and their learner. It acts greedily in the mean
// and explores by a rule (rule.h).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "agent/agent.h"
#include "agent/critic/quantile_critic.h"
#include "agent/discrete/learner.h"
#include "agent/discrete/rule.h"

namespace ovde {

class DiscreteAgent final : public Agent {
 public:
  explicit DiscreteAgent(const AgentOptions& options);

  void use(Team* team) override { critics_.use(team); }

  void act(std::span<const double> observation, std::span<double> action) override;

  // The action that the rule chooses; with `plain`, any with equal probability.
  Proposal propose(std::span<const double> input, bool plain) override;
  Decision decide(const Proposal& proposal, bool plain, std::span<double> action) override;

  UpdateReport update(Team& team) override { return learner_.update(replay(), team); }
  ValueReport value_report() const override { return learner_.value_report(); }
  std::uint64_t updates() const override { return learner_.updates(); }
  double flop_per_update() const override { return learner_.flop_per_update(); }
  LearnerState state() override;
  void restored() override;
  PolicyContents policy() const override;

 private:
  void load_networks();

  ActionGrid grid_;
  DiscreteLearner learner_;
  std::unique_ptr<DiscreteRule> rule_;
  GreedyPass greedy_;
  QuantileCriticPair critics_;                // all actions' quantiles at a state
  std::uint64_t loaded_ = ~std::uint64_t{0};  // number of updates in what greedy_ and critics_ hold
  std::vector<double> acted_on_;              // scaled, of act()
  std::vector<float> observation_;
};

}  // namespace ovde
