// One agent: the learner, its replay buffer and its behaviour policy. Actions are in [-1, 1]. Knows
// nothing of environments or files.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include <ovde/random.h>
#include "agent/algorithm.h"
#include "agent/explore/explorer.h"
#include "agent/learner.h"
#include "agent/policy_pass.h"
#include "agent/replay.h"

namespace ovde {

struct AgentOptions {
  Algorithm algorithm;
  LearnerOptions learner;
  ExploreOptions explore;
  std::int64_t replay = 100000;
};

// How the behaviour policy differs from the policy at one step.
struct Decision {
  double m = std::numeric_limits<double>::quiet_NaN();  // OVD-Explorer's weight of the step
  double shift = 0;  // length of the move of the mean, before the squash
};

class Agent {
 public:
  explicit Agent(const AgentOptions& options);

  // The team that acting may use from now on; null: none. It must outlive its use.
  void use(Team* team) { critics_->use(team); }

  // The trained policy: tanh(mean).
  void act(std::span<const double> observation, std::span<double> action);

  // The behaviour policy N(mu_E, std), squashed; with `plain`, the policy's own N(mu, std).
  Decision explore(std::span<const double> observation, bool plain, std::span<double> action);

  void remember(std::span<const double> observation, std::span<const double> action, double reward,
                std::span<const double> next_observation, bool terminal);
  UpdateReport update(Team& team) { return learner_.update(replay_, team); }

  Learner& learner() { return learner_; }
  const Learner& learner() const { return learner_; }
  Replay& replay() { return replay_; }
  const Replay& replay() const { return replay_; }
  // The streams that acting draws from.
  Random& behaviour_noise() { return behaviour_noise_; }
  Random& explorer_noise() { return explorer_noise_; }

 private:
  void load_networks();

  Learner learner_;
  Replay replay_;
  Random behaviour_noise_, explorer_noise_;
  PolicyPass policy_;
  std::unique_ptr<CriticPair> critics_;
  std::unique_ptr<Explorer> explorer_;
  std::uint64_t loaded_ = ~std::uint64_t{0};  // number of updates in what policy_ and critics_ hold

  ActorHead head_;
  std::vector<double> mean_;
  std::vector<float> observation_, next_observation_, action_;
};

}  // namespace ovde
