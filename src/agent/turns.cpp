#include "agent/turns.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "agent/running_moments.h"

namespace ovde {

double Turns::probability() const {
  if (!adapts()) return options_.share;
  const Estimate agent = estimate(false), scout = estimate(true);
  if (agent.count < 2 || scout.count < 2) return options_.share;
  const double more = scout.mean - agent.mean, error = std::hypot(agent.error, scout.error);
  const double f = more == 0 && error == 0 ? 1
                   : more > 0              ? std::erf(more / error / std::sqrt(2.0))
                                           : 0;
  return options_.share * (options_.minimum_share + (1 - options_.minimum_share) * f);
}

void Turns::end_episode(bool scout) {
  double* own = state_.data() + (scout ? kOne : 0);
  own[kLatest + static_cast<int>(own[kCount]++) % kMemory] = std::exchange(state_[kReturn], 0);
}

Turns::Estimate Turns::estimate(bool scout) const {
  const double* own = state_.data() + (scout ? kOne : 0);
  const int n = static_cast<int>(std::min<double>(own[kCount], kMemory));
  RunningMoments moments(1);  // to the bit: of equal numbers the mean is that, the deviation 0
  for (int i = 0; i < n; ++i) moments.add(std::span(own + kLatest + i, 1));
  return {n, moments.mean(0), moments.sample_deviation(0) / std::sqrt(n)};
}

}  // namespace ovde
