#include "agent/turns.h"

#include <algorithm>
#include <cmath>

namespace ovde {

double Turns::probability() const {
  const double *agent = state_.data(), *scout = agent + kOne;
  if (!adapts() || agent[kCount] < 2 || scout[kCount] < 2) return options_.share;
  // n equal weights, or those that fade by 1 - 1 / kMemory, which are worth 2 kMemory - 1
  const auto squared_error = [](const double* moments) {
    const double n = std::min<double>(moments[kCount], 2 * kMemory - 1);
    return moments[kVariance] / (n - 1);
  };
  const double less = agent[kMean] - scout[kMean];
  const double error = std::sqrt(squared_error(agent) + squared_error(scout));
  const double f = less > 0 ? std::erfc(less / error / std::sqrt(2.0)) : 1;
  return options_.share * (options_.least + (1 - options_.least) * f);
}

void Turns::end_episode(bool scout) {
  double* moments = state_.data() + (scout ? kOne : 0);
  const double weight = 1 / std::min<double>(++moments[kCount], kMemory);
  const double deviation = state_[kReturn] - moments[kMean];
  moments[kMean] += weight * deviation;
  moments[kVariance] = (1 - weight) * (moments[kVariance] + weight * deviation * deviation);
  state_[kReturn] = 0;
}

}  // namespace ovde
