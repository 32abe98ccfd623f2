#include "stats/power.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <ovde/error.h>
#include "stats/distributions.h"

namespace ovde {

namespace {

constexpr int kMostRuns = 1'000'000;

// Above this many standard errors the scatter of the difference is negligible, and the series of
// the noncentral distribution is slow.
constexpr double kLargeShift = 40;

void check(const Effect& effect, double alpha) {
  if (!std::isfinite(effect.difference) || effect.difference == 0) {
    throw Error("power: the difference must be a number other than 0");
  }
  for (const double deviation : {effect.deviation_x, effect.deviation_y}) {
    if (!std::isfinite(deviation) || deviation < 0) {
      throw Error(fmt::format("power: {} is not a standard deviation", deviation));
    }
  }
  if (!(alpha > 0 && alpha < 1))
    throw Error(fmt::format("power: level {} is not between 0 and 1", alpha));
}

}  // namespace

double welch_power(const Effect& effect, int n_x, int n_y, double alpha) {
  check(effect, alpha);
  if (n_x < 2 || n_y < 2) throw Error("power: Welch's test needs at least two runs of each");

  const double error_x = effect.deviation_x * effect.deviation_x / n_x;
  const double error_y = effect.deviation_y * effect.deviation_y / n_y;
  const double error = std::sqrt(error_x + error_y);
  if (error == 0) return 1;
  const double shift = std::abs(effect.difference) / error;

  const double share_x = error_x / (error_x + error_y);
  const double share_y = 1 - share_x;
  const double degrees = 1 / (share_x * share_x / (n_x - 1) + share_y * share_y / (n_y - 1));

  // t = (N(0, 1) + shift) / s, where degrees * s^2 is chi-squared: small s lead to rejection
  const double critical = quantile(complement(StudentsT(degrees), alpha / 2));
  if (shift > kLargeShift) return cdf(ChiSquared(degrees), degrees * std::pow(shift / critical, 2));

  // rejection on both sides, also in the wrong direction
  const NonCentralT distribution(degrees, shift);
  return cdf(complement(distribution, critical)) + cdf(distribution, -critical);
}

std::optional<int> runs_needed(const Effect& effect, double power, double alpha) {
  check(effect, alpha);
  if (!(power > 0 && power < 1))
    throw Error(fmt::format("power: {} is not between 0 and 1", power));
  const auto enough = [&](int n) { return welch_power(effect, n, n, alpha) >= power; };

  // power grows with the number of runs: double until enough, then halve the gap
  int high = 2;
  while (!enough(high)) {
    if (high == kMostRuns) return std::nullopt;
    high = std::min(2 * high, kMostRuns);
  }
  int low = std::max(2, high / 2);
  while (low < high) {
    const int middle = low + (high - low) / 2;
    if (enough(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return high;
}

}  // namespace ovde
