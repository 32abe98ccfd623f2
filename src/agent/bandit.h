// A bandit that chooses one of a few numbers for each episode, by exponential weights: what the
// episode's return gained over the one before speaks for the choice of that episode. TOP (Moskovitz
// et al., 2021) chooses the critics' optimism so. Knows nothing of what the numbers are for.
#pragma once

#include <span>
#include <vector>

#include <ovde/random.h>
#include "agent/equations.h"
#include "agent/options.h"

namespace ovde {

class Bandit {
 public:
  explicit Bandit(const TopOptions& options);

  // What is chosen for this episode.
  double arm() const { return options_.arms[static_cast<std::size_t>(state_[kChosen])]; }
  // How likely each is to be chosen: the softmax of the weights.
  std::vector<double> probabilities() const;

  void add(double reward) { state_[kReturn] += reward; }
  // The episode has ended: its weight moves by rate * gain / (deviation * probability), and the
  // next arm is drawn.
  void end_episode(Random& random);
  // It will not be seen to its end: nothing is learnt from it.
  void give_up_episode() { state_[kReturn] = 0; }

  // All there is to save: the choice, the episode and the weights; the moments of the gains.
  std::span<double> state() { return state_; }
  std::span<double> gains() { return gains_.state(); }

 private:
  enum { kChosen, kReturn, kBefore, kEpisodes, kWeights };

  TopOptions options_;
  std::vector<double> state_;  // in the order above; kBefore: the return of the episode before
  RunningMoments gains_{1};
};

}  // namespace ovde
