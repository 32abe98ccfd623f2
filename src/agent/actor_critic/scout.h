// A second learner beside that of an agent: it learns from the same transitions, with a bonus for
// new observations in its rewards, and acts in a share of the episodes. The agent's own learner
// never sees the bonus, so that the policy that is evaluated and kept is the one for the task
// alone.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <ovde/random.h>
#include "agent/actor_critic/actor.h"
#include "agent/actor_critic/learner.h"
#include "agent/algorithm.h"

namespace ovde {

// Options of the agent's own learner: where there is a scout, it alone has the bonus.
LearnerOptions own_learner(const AgentOptions& options);

// Options of the scout's learner: the agent's, with the bonus, another seed and networks of its
// own, which are of kind mlp or residual with the agent's sizes. Its own policy explores.
LearnerOptions scout_learner(const AgentOptions& options);

// Prefix of the names of its state.
inline constexpr const char* kScout = "scout.";

// Decides who acts in the next episode, the agent or its scout. While no reward tells their
// episodes apart, the scout acts in its whole share of them; later more often as the evidence grows
// that its episodes return more.
class Turns {
 public:
  explicit Turns(const ScoutOptions& options) : options_(options) {}

  // The probability that the scout acts in the next episode: the share times m + (1 - m) f, with
  // m = scout.minimum_share and f = max(0, 2 Phi(t) - 1), t the difference of the scout's mean
  // return and the agent's in standard errors, over the latest kMemory episodes of each. f is 1
  // where there are not two of each, and where all of them returned the same.
  double probability() const;

  void add(double reward) { state_[kReturn] += reward; }
  // Notes the return of the episode that has ended. `scout`: the scout acted in it.
  void end_episode(bool scout);
  // Forgets the rewards of an episode that is not continued.
  void give_up_episode() { state_[kReturn] = 0; }

  bool draw(Random& random) const { return random.uniform() < probability(); }

  // Whether the probability depends on returns, which then have to be saved.
  bool adapts() const { return options_.minimum_share < 1; }
  std::span<double> state() { return state_; }

 private:
  static constexpr int kMemory = 20;
  // the agent's episodes, then the scout's: their number and the latest returns; then the return of
  // the episode in progress
  enum { kCount, kLatest, kOne = kLatest + kMemory, kReturn = 2 * kOne, kSize };

  struct Estimate {
    int count;
    double mean, error;
  };
  Estimate estimate(bool scout) const;

  ScoutOptions options_;
  std::array<double, kSize> state_ = {};
};

class Scout {
 public:
  explicit Scout(const AgentOptions& options);

  // Whether it acts in this episode.
  bool acts() const { return acts_; }
  void let_act(bool acts) { acts_ = acts; }

  void add_reward(double reward) { turns_.add(reward); }
  // Draws who acts in the next episode. `complete`: the last one was seen to its end.
  void end_episode(bool complete, Random& random);

  // Its policy as it is after the last update.
  PolicyPass& policy();

  Learner& learner() { return learner_; }

  void add_learner_state(LearnerState& state);
  void add_turns_state(LearnerState& state);
  // `updates`: the number of updates of the agent's learner, which is also its own.
  void restored(std::uint64_t updates);

 private:
  Learner learner_;
  PolicyPass policy_;
  Turns turns_;
  bool acts_ = false;
  double saved_acts_ = 0;                     // acts_ in saved form: 0 or 1
  std::uint64_t loaded_ = ~std::uint64_t{0};  // number of updates of policy_'s parameters
};

}  // namespace ovde
