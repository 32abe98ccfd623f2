// A bandit that chooses one of a few numbers for each episode, by exponential weights: the gain of
// an episode's return over the previous one is credited to the number chosen for it. TOP (Moskovitz
// et al., 2021) chooses the critics' optimism with it.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <ovde/random.h>
#include "agent/equations.h"
#include "agent/options.h"

namespace ovde {

class Bandit {
 public:
  explicit Bandit(const TopOptions& options)
      : options_(options), state_(kWeights + options.arms.size()) {}

  // The number chosen for this episode.
  double arm() const { return options_.arms[static_cast<std::size_t>(state_[kChosen])]; }
  // The probability of each arm: the softmax of the weights.
  std::vector<double> probabilities() const;

  void add(double reward) { state_[kReturn] += reward; }
  // Moves the weight of the arm by rate * gain / (deviation * probability), and draws the next one.
  void end_episode(Random& random);
  // Forgets the rewards of an episode that is not continued.
  void give_up_episode() { state_[kReturn] = 0; }

  // For saving: the choice, the episode and the weights; the moments of the gains.
  std::span<double> state() { return state_; }
  std::span<double> gains() { return gains_.state(); }

 private:
  enum { kChosen, kReturn, kBefore, kEpisodes, kWeights };

  TopOptions options_;
  std::vector<double> state_;  // in the order above; kBefore: the previous episode's return
  RunningMoments gains_{1};
};

inline std::vector<double> Bandit::probabilities() const {
  std::vector<double> p(state_.begin() + kWeights, state_.end());
  const double largest = *std::ranges::max_element(p);
  double sum = 0;
  for (double& x : p) sum += x = std::exp(x - largest);
  for (double& x : p) x /= sum;
  return p;
}

inline void Bandit::end_episode(Random& random) {
  std::vector<double> p = probabilities();
  const auto chosen = static_cast<std::size_t>(state_[kChosen]);
  if (state_[kEpisodes]++ > 0) {
    const double gain = state_[kReturn] - state_[kBefore];
    gains_.add(std::span<const double>(&gain, 1));
    if (const double deviation = gains_.standard_deviation(0); deviation > 0) {
      state_[kWeights + chosen] += options_.rate * gain / (deviation * p[chosen]);
      p = probabilities();
    }
  }
  state_[kBefore] = state_[kReturn];
  state_[kReturn] = 0;

  const double drawn = random.uniform();
  std::size_t arm = 0;
  for (double below = p[0]; arm + 1 < p.size() && drawn >= below; below += p[arm]) ++arm;
  state_[kChosen] = static_cast<double>(arm);
}

}  // namespace ovde
