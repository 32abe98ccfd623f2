#include "agent/turns.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ovde {

double Turns::probability() const {
  if (!adapts()) return options_.share;
  const Estimate agent = estimate(false), scout = estimate(true);
  if (agent.count < 2 || scout.count < 2) return options_.share;
  const bool same = std::min(agent.low, scout.low) == std::max(agent.high, scout.high);
  const double more = scout.mean - agent.mean;
  const double error = std::sqrt(agent.squared_error + scout.squared_error);
  const double f = same ? 1 : more > 0 ? std::erf(more / error / std::sqrt(2.0)) : 0;
  return options_.share * (options_.least + (1 - options_.least) * f);
}

void Turns::end_episode(bool scout) {
  double* own = state_.data() + (scout ? kOne : 0);
  own[kLatest + static_cast<int>(own[kCount]++) % kMemory] = std::exchange(state_[kReturn], 0);
}

Turns::Estimate Turns::estimate(bool scout) const {
  const double* own = state_.data() + (scout ? kOne : 0);
  const int n = static_cast<int>(std::min<double>(own[kCount], kMemory));
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) sum += own[kLatest + i];
  for (int i = 0; i < n; ++i) squares += std::pow(own[kLatest + i] - sum / n, 2);
  const auto [low, high] = std::minmax_element(own + kLatest, own + kLatest + n);
  return {n, sum / n, squares / (n - 1) / n, *low, *high};
}

}  // namespace ovde
