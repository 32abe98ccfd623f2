// Further critics beside the two of a learner (critic.count), for what the two say too little
// about: how little is known of a value. They learn the same targets from the same batches, each
// around a random function of its own that is never learnt (a prior; Osband et al., 2018), so that
// they agree where there is data and nowhere else. Targets and the actor's loss are the two
// critics' alone.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "agent/critic/quantile_critic.h"
#include "agent/learning.h"

namespace ovde {

// What the sum of a prior's outputs counts: such that a prior has the size of one output.
float prior_scale(const LearnerOptions& options);

class Ensemble {
 public:
  // Of options.critics - 2 critics.
  explicit Ensemble(const LearnerOptions& options);

  int size() const { return static_cast<int>(members_.size()); }

  // Critic j's step of update number `update`, as Critic::learn(): its network learns the targets
  // less its prior.
  void learn(int j, const Batch& state_action, const Batch& targets, const Batch& weight,
             std::uint64_t update);

  // Its network, and that of its prior, which is the sum of the outputs times options.prior /
  // sqrt(N).
  std::span<const float> network(int j) const { return members_[j].critic->network().parameters; }
  std::span<const float> prior(int j) const { return members_[j].critic->network().target; }

  void add_state(LearnerState& state);
  void restored();
  double flop_per_update() const;

 private:
  struct Member {
    std::unique_ptr<Critic> critic;  // its target network is the prior's
    Batch targets;                   // without the prior
  };
  float scale_;  // of the sum of the prior's outputs
  std::vector<Member> members_;
};

// All critics of a learner as acting sees them: a pair of quantile functions, their mean less and
// plus their standard deviation at every quantile, in which two critics' means and uncertainties
// are those of all.
class EnsemblePair final : public CriticPair {
 public:
  EnsemblePair(const LearnerOptions& options, const Ensemble& ensemble);

  // With the ensemble's as they are now.
  void load(std::span<const float> first, std::span<const float> second) override;
  const QuantilePair& quantiles(std::span<const float> observation, std::span<const float> action,
                                Random& random) override;
  void action_gradient(const QuantilePair& quantile_gradient, std::span<double> gradient) override;

 private:
  // Two critics, the second of which may be the first again where their number is odd.
  struct Side {
    QuantileCriticPair nets, priors;
  };
  int critics() const { return 2 + ensemble_.size(); }
  // How far critic k is from the mean of all at quantile i, in their standard deviations.
  double place(int k, int i) const;

  const Ensemble& ensemble_;
  double scale_;  // as the ensemble's
  QuantileCriticPair two_;
  std::vector<Side> others_;
  std::vector<std::vector<double>> z_;  // of every critic
  std::vector<double> mean_, deviation_;
  QuantilePair quantiles_, by_two_, by_prior_;
  std::vector<double> part_;
};

}  // namespace ovde
