// The two critics as acting sees them: quantiles at one (s, a), and gradients of functions of these
// with respect to the action.
#pragma once

#include <memory>
#include <span>

#include <ovde/random.h>
#include "agent/actor_critic/learner_options.h"
#include "agent/critic/uncertainty.h"
#include "base/team.h"

namespace ovde {

class CriticPair {
 public:
  virtual ~CriticPair() = default;

  // The team that evaluates the two critics side by side from now on; null:
  // one after the other.
  void use(Team* team) { team_ = team; }

  // Takes over the critics' parameters; call it again when they have changed.
  virtual void load(std::span<const float> first, std::span<const float> second) = 0;

  // Evaluates both critics; the result stays valid until the next call. `random` is for the
  // fractions, where these are random: one set for each call, the same for both critics.
  virtual const QuantilePair& quantiles(std::span<const float> observation,
                                        std::span<const float> action, Random& random) = 0;

  // d f / d action at the (s, a) of the last quantiles(), given d f / d z.
  virtual void action_gradient(const QuantilePair& quantile_gradient,
                               std::span<double> gradient) = 0;

 protected:
  template <typename Work>
  void for_each_critic(Work&& work) {
    if (team_) {
      team_->run(2, work);
    } else {
      work(0);
      work(1);
    }
  }
  static void check_finite(const QuantilePair& quantiles);

 private:
  Team* team_ = nullptr;
};

// For the critics that make_critic() gives a learner with these options.
std::unique_ptr<CriticPair> make_critic_pair(const LearnerOptions& options);

}  // namespace ovde
