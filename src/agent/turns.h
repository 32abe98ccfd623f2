// Who acts in the next episode, an agent or its scout: the scout as often as asked while no reward
// tells their episodes apart, and then the more often the surer it is that its own return more.
// Knows nothing of how either acts.
#pragma once

#include <array>
#include <span>

#include <ovde/random.h>
#include "agent/options.h"

namespace ovde {

class Turns {
 public:
  explicit Turns(const ScoutOptions& options) : options_(options) {}

  // How likely the scout is to act in the next episode: the share times m + (1 - m) f, with
  // m = scout.minimum_share and f = max(0, 2 Phi(t) - 1), t the difference of the scout's mean
  // return and the agent's in standard errors, over the latest kMemory episodes of each. f is 1
  // where there are not two of each, and where all of them returned the same.
  double probability() const;

  void add(double reward) { state_[kReturn] += reward; }
  // The episode, in which the scout acted or not, has ended.
  void end_episode(bool scout);
  // It will not be seen to its end: nothing is learnt from it.
  void give_up_episode() { state_[kReturn] = 0; }

  bool draw(Random& random) const { return random.uniform() < probability(); }

  // Whether it depends on returns, which are then to be saved.
  bool adapts() const { return options_.minimum_share < 1; }
  std::span<double> state() { return state_; }

 private:
  static constexpr int kMemory = 20;
  // of the agent's episodes, then of the scout's: their number, and the latest returns
  enum { kCount, kLatest, kOne = kLatest + kMemory, kReturn = 2 * kOne, kSize };

  struct Estimate {
    int count;
    double mean, error;
  };
  Estimate estimate(bool scout) const;

  ScoutOptions options_;
  std::array<double, kSize> state_ = {};  // kReturn: of the episode so far
};

}  // namespace ovde
