// The agent with an actor and two critics over continuous actions: the learner, and a behaviour
// policy that may move the actor's mean. Every algorithm but those over discrete actions is one.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "agent/actor_critic/actor.h"
#include "agent/actor_critic/learner.h"
#include "agent/actor_critic/scout.h"
#include "agent/agent.h"

namespace ovde {

class ActorCriticAgent final : public Agent {
 public:
  explicit ActorCriticAgent(const AgentOptions& options);

  void use(Team* team) override { critics_->use(team); }

  // tanh(mean)
  void act(std::span<const double> observation, std::span<double> action) override;

  // N(mu_E, std), squashed; with `plain`, the policy's own N(mu, std); in the scout's episodes that
  // of its policy, and otherwise that of the optimist where there is one, wider. A deterministic
  // policy has noise of a given size after the squash instead, and any action at all with `plain`.
  Proposal propose(std::span<const double> input, bool plain) override;
  Decision decide(const Proposal& proposal, bool plain, std::span<double> action) override;

  const QuantilePair* quantiles(std::span<const double> observation,
                                std::span<const double> action) override;

  UpdateReport update(Team& team) override;
  ValueReport value_report() const override { return learner_.value_report(); }
  std::uint64_t updates() const override { return learner_.updates(); }
  double flop_per_update() const override;
  LearnerState state() override;
  void restored() override;
  PolicyContents policy() const override;

  // For those who learn elsewhere on its behalf.
  Learner& learner() { return learner_; }

 private:
  void load_networks();
  bool deterministic() const { return learner_.options().policy == PolicyKind::deterministic; }

  Learner learner_;
  PolicyPass policy_;
  std::unique_ptr<CriticPair> critics_;
  std::unique_ptr<Explorer> explorer_;
  std::unique_ptr<Scout> scout_;              // null: there is none
  std::unique_ptr<PolicyPass> optimist_;      // likewise
  std::uint64_t loaded_ = ~std::uint64_t{0};  // number of updates in what policy_ and critics_ hold

  ActorHead head_, optimist_head_;
  std::vector<double> mean_;
  std::vector<double> noise_;     // a deterministic policy's, of the last step; of variance 1
  std::vector<double> acted_on_;  // scaled, of act()
  std::vector<float> observation_, action_;
};

}  // namespace ovde
