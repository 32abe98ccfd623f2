#include "agent/bandit.h"

#include <algorithm>
#include <cmath>

namespace ovde {

Bandit::Bandit(const TopOptions& options)
    : options_(options), state_(kWeights + options.arms.size()) {}

std::vector<double> Bandit::probabilities() const {
  std::vector<double> p(state_.begin() + kWeights, state_.end());
  const double largest = *std::ranges::max_element(p);
  double sum = 0;
  for (double& x : p) sum += x = std::exp(x - largest);
  for (double& x : p) x /= sum;
  return p;
}

void Bandit::end_episode(Random& random) {
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
