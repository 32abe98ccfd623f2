// The agent with an actor and two critics over continuous actions: the learner, and a behaviour
// policy that may move the actor's mean. Every algorithm is of this kind but those over discrete
// actions. A scout (scout.h) and a bandit (agent/bandit.h) are parts that few algorithms have.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "agent/actor_critic/actor.h"
#include "agent/actor_critic/learner.h"
#include "agent/actor_critic/scout.h"
#include "agent/agent.h"
#include "agent/bandit.h"
#include "agent/explore/held_noise.h"
#include "agent/reward_scale.h"

namespace ovde {

class ActorCriticAgent final : public Agent, private HostSide {
 public:
  explicit ActorCriticAgent(const AgentOptions& options);

  void use(Team* team) override { critics_->use(team); }

  // tanh(mean)
  void act(std::span<const double> observation, std::span<double> action) override;

  // N(mu_E, std), squashed; with `plain`, the policy's own N(mu, std), or uniformly drawn actions
  // (train.warmup_actions). The scout's policy acts in its episodes; a second actor (optimist.h)
  // acts in the policy's place, with a wider std. A deterministic policy has noise of a given size
  // after the squash instead, and uniformly drawn actions with `plain`.
  Decision explore(std::span<const double> observation, bool plain,
                   std::span<double> action) override;

  const QuantilePair* quantiles(std::span<const double> observation,
                                std::span<const double> action) override;

  UpdateReport update(Team& team) override;
  ValueReport value_report() const override { return learner_.value_report(); }
  std::uint64_t updates() const override { return learner_.updates(); }
  double flop_per_update() const override;
  LearnerState state() override;
  void restored() override;
  void policy_restored() override { learner_.policy_restored(); }
  PolicyContents policy() const override;
  HostSide& host_side() override { return *this; }

  Learner& learner() { return learner_; }

 private:
  Proposal propose(std::span<const float> input, bool plain) override;
  Decision decide(const Proposal& proposal, bool plain, std::span<double> action) override;
  bool scout_acts() const override { return scout_ && scout_->acts(); }
  void let_scout_act(bool acts) override;
  std::optional<float> chosen_optimism() const override;
  void set_optimism(float optimism) override { optimism_ = optimism; }
  float reward_scale() const override { return reward_factor_; }
  void set_reward_scale(float factor) override { reward_factor_ = factor; }

  void add_reward(double reward) override;
  void end_episode(bool complete) override;

  // Acting has copies of the networks, which are renewed when an update has passed. The policy
  // alone acts in evaluations; exploring and quantiles() may take the others too.
  void load_policy();
  void load_other_networks();
  bool deterministic() const { return learner_.options().policy == PolicyKind::deterministic; }
  bool warms_up_uniformly() const {
    return deterministic() || options().learner.train.warmup_actions == WarmUpActions::uniform;
  }
  // The actor that explores, with its parameters up to date.
  PolicyPass& acting_policy(bool plain);
  // The proposal at the input of acting_policy().
  Proposal propose(bool plain);

  Learner learner_;
  PolicyPass policy_;
  std::unique_ptr<CriticPair> critics_;
  std::unique_ptr<Explorer> explorer_;
  std::unique_ptr<PolicyPass> second_actor_;  // null: the policy explores
  std::unique_ptr<Scout> scout_;              // null: none
  std::optional<Bandit> bandit_;
  double optimism_ = 0;  // the bandit's choice
  std::optional<RewardScale> reward_scale_;
  float reward_factor_ = 1;
  // numbers of updates of the copies for acting
  static constexpr std::uint64_t kNotLoaded = ~std::uint64_t{0};
  std::uint64_t loaded_policy_ = kNotLoaded, loaded_others_ = kNotLoaded;

  ActorHead head_, second_head_;
  std::vector<double> mean_, step_;
  // for each environment: the noise of a Gaussian policy; a deterministic policy's at the last
  // step, with variance 1
  std::vector<HeldNoise> held_noise_;
  std::vector<std::vector<double>> noise_;
  std::vector<float> observation_, action_;
};

}  // namespace ovde
