#include "stats/significance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include <ovde/error.h>
#include "stats/distributions.h"
#include "stats/statistics.h"

namespace ovde {

Moments moments(std::span<const double> values) {
  return {static_cast<int>(values.size()), mean(values), standard_deviation(values)};
}

std::optional<WelchTest> welch_test(std::span<const double> x, std::span<const double> y,
                                    double confidence) {
  return welch_test(moments(x), moments(y), confidence);
}

std::optional<WelchTest> welch_test(const Moments& x, const Moments& y, double confidence) {
  for (const Moments& m : {x, y}) {
    if (m.count < 1 || !std::isfinite(m.mean) || !std::isfinite(m.deviation) || m.deviation < 0) {
      throw Error(fmt::format("Welch's test: no sample has {} values, mean {} and deviation {}",
                              m.count, m.mean, m.deviation));
    }
  }
  if (!(confidence > 0 && confidence < 1)) {
    throw Error(fmt::format("Welch's test: confidence {} is not between 0 and 1", confidence));
  }
  if (x.count < 2 || y.count < 2) return std::nullopt;

  // squared standard errors of the two means; below rounding error they estimate nothing
  const double error_x = x.deviation * x.deviation / x.count;
  const double error_y = y.deviation * y.deviation / y.count;
  const double error = std::sqrt(error_x + error_y);
  const double rounding =
      10 * std::numeric_limits<double>::epsilon() * std::max(std::abs(x.mean), std::abs(y.mean));
  if (error <= rounding) return std::nullopt;

  // Satterthwaite's approximation, by the shares of the two errors so that nothing can overflow
  const double share_x = error_x / (error_x + error_y);
  const double share_y = 1 - share_x;
  const double degrees =
      1 / (share_x * share_x / (x.count - 1) + share_y * share_y / (y.count - 1));

  const StudentsT distribution(degrees);
  const double difference = x.mean - y.mean;
  const double t = difference / error;
  const double margin = error * quantile(complement(distribution, (1 - confidence) / 2));
  const double p = 2 * cdf(complement(distribution, std::abs(t)));
  return WelchTest{difference, difference - margin, difference + margin, t,
                   degrees,    std::min(p, 1.0)};
}

double fisher_exact_test(int successes_x, int runs_x, int successes_y, int runs_y) {
  const auto possible = [](int successes, int runs) {
    return runs >= 1 && successes >= 0 && successes <= runs;
  };
  if (!possible(successes_x, runs_x) || !possible(successes_y, runs_y)) {
    throw Error(fmt::format("Fisher's test: {} of {} against {} of {} are not counts of successes",
                            successes_x, runs_x, successes_y, runs_y));
  }

  // given both margins, the successes of x follow the hypergeometric distribution
  const int successes = successes_x + successes_y;
  const Hypergeometric distribution(successes, runs_x, runs_x + runs_y);
  const double observed = pdf(distribution, successes_x);

  // equally likely tables may differ in their last bits
  const double limit = observed * (1 + 1e-7);
  double p = 0;
  for (int k = std::max(0, successes - runs_y); k <= std::min(successes, runs_x); ++k) {
    const double probability = pdf(distribution, k);
    if (probability <= limit) p += probability;
  }
  return std::min(p, 1.0);
}

std::vector<double> holm(std::span<const double> p) {
  for (const double value : p) {
    if (!(value >= 0 && value <= 1)) {
      throw Error(fmt::format("Holm's correction: {} is not a p-value", value));
    }
  }
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return p[i]; });

  // the k-th smallest is multiplied by the number of hypotheses not yet rejected, and is not
  // smaller than its predecessor
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (std::size_t k = 0; k < order.size(); ++k) {
    largest = std::max(largest, static_cast<double>(p.size() - k) * p[order[k]]);
    adjusted[order[k]] = std::min(largest, 1.0);
  }
  return adjusted;
}

}  // namespace ovde
