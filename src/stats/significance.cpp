#include "stats/significance.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include <ovde/error.h>
#include <ovde/random.h>
#include "stats/distributions.h"
#include "stats/statistics.h"

namespace ovde {

namespace {

// The standard error of a difference of two means, and its degrees of freedom by Welch and
// Satterthwaite: from shares of the squared errors, so that nothing can overflow.
struct WelchError {
  WelchError(double deviation_x, double n_x, double deviation_y, double n_y) {
    const double x = deviation_x * deviation_x / n_x, y = deviation_y * deviation_y / n_y;
    const double share_x = x / (x + y), share_y = 1 - share_x;
    error = std::sqrt(x + y);
    degrees = 1 / (share_x * share_x / (n_x - 1) + share_y * share_y / (n_y - 1));
  }
  double error, degrees;  // without an error the degrees are NaN
};

// The places of the values in ascending order.
std::vector<std::size_t> order_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  return order;
}

constexpr double kWelchConfidence = 0.95;
constexpr int kMostRuns = 1'000'000;
constexpr int kPermutations = 100'000;

// Above this many standard errors the scatter of the difference is negligible: only the ratio to
// the critical value counts.
constexpr double kLargeShift = 1000;

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

// Both samples ranked together. Ranks are doubled, so that the midranks of ties are whole numbers.
struct Ranking {
  std::vector<int> doubled;  // x's values first, then y's
  double tie_term = 0;       // sum of t^3 - t over the groups of t equal values
};

Ranking rank(std::span<const double> x, std::span<const double> y) {
  std::vector<double> values(x.begin(), x.end());
  values.insert(values.end(), y.begin(), y.end());
  const std::vector<std::size_t> order = order_of(values);

  Ranking ranking{std::vector<int>(values.size())};
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;

    // ranks first + 1 .. end share their mean, (first + 1 + end) / 2
    for (std::size_t k = first; k < end; ++k) {
      ranking.doubled[order[k]] = static_cast<int>(first + 1 + end);
    }
    const auto ties = static_cast<double>(end - first);
    ranking.tie_term += ties * ties * ties - ties;
    first = end;
  }
  return ranking;
}

// ways[s]: the number of ways to choose `size` of the ranks with sum s (Streitberg and Roehmel's
// shift algorithm). Polynomial in the number of values; enumerating the choices is exponential.
std::vector<double> count_sums(const std::vector<int>& ranks, std::size_t size) {
  const auto total = static_cast<std::size_t>(std::accumulate(ranks.begin(), ranks.end(), 0));
  std::vector<std::vector<double>> ways(size + 1, std::vector<double>(total + 1, 0.0));
  ways[0][0] = 1;
  for (const int rank : ranks) {
    const auto shift = static_cast<std::size_t>(rank);
    // sizes downwards: each rank is taken at most once
    for (std::size_t k = size; k >= 1; --k) {
      for (std::size_t sum = total; sum >= shift; --sum) ways[k][sum] += ways[k - 1][sum - shift];
    }
  }
  return ways[size];
}

double exact_p(const Ranking& ranking, std::size_t size_x, int sum_x) {
  const std::vector<double> ways = count_sums(ranking.doubled, size_x);

  // E[sum] = size_x * (N + 1) in doubled ranks, ties or not
  const int centre = static_cast<int>(size_x * (ranking.doubled.size() + 1));
  const int distance = std::abs(sum_x - centre);
  double all = 0, extreme = 0;
  for (std::size_t sum = 0; sum < ways.size(); ++sum) {
    all += ways[sum];
    if (std::abs(static_cast<int>(sum) - centre) >= distance) extreme += ways[sum];
  }
  return extreme / all;
}

double normal_p(const Ranking& ranking, double n, double m, double u) {
  const double total = n + m;
  const double variance = n * m / 12 * (total + 1 - ranking.tie_term / (total * (total - 1)));
  if (variance <= 0) return 1;  // all values are equal
  const double z = std::max(0.0, std::abs(u - n * m / 2) - 0.5) / std::sqrt(variance);
  return 2 * normal_tail(z);
}

// One task of the stratified test. A run of x adds its weight to the statistic: its midrank,
// counted from the middle, over the number of pairs.
struct RankedTask {
  std::size_t runs_x;
  std::vector<double> weights;  // x's runs first

  double statistic() const {
    return std::accumulate(weights.begin(), weights.begin() + static_cast<long>(runs_x), 0.0);
  }
};

RankedTask rank_task(const std::vector<double>& x, const std::vector<double>& y) {
  RankedTask task{x.size(), {}};
  const auto pairs = static_cast<double>(x.size() * y.size());
  const auto count = static_cast<double>(x.size() + y.size());
  for (const int doubled : rank(x, y).doubled)
    task.weights.push_back((static_cast<double>(doubled) / 2 - (count + 1) / 2) / pairs);
  return task;
}

}  // namespace

std::optional<WelchTest> welch_test(std::span<const double> x, std::span<const double> y) {
  const double mean_x = mean(x), mean_y = mean(y), difference = mean_x - mean_y;
  const auto [error, degrees] = WelchError(standard_deviation(x), static_cast<double>(x.size()),
                                           standard_deviation(y), static_cast<double>(y.size()));
  if (!std::isfinite(difference) || !std::isfinite(error))
    throw Error("Welch's test: the values are too large");
  if (x.size() < 2 || y.size() < 2) return std::nullopt;

  // below rounding error the deviations estimate nothing
  const double rounding =
      10 * std::numeric_limits<double>::epsilon() * std::max(std::abs(mean_x), std::abs(mean_y));
  if (error <= rounding) return std::nullopt;

  const double t = difference / error;
  const double margin = error * t_quantile((1 - kWelchConfidence) / 2, degrees);
  const double p = 2 * t_tail(std::abs(t), degrees);
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

  // Given both margins, the successes of x follow the hypergeometric distribution: here divided by
  // its largest value, from which it falls to both sides.
  const int successes = successes_x + successes_y;
  const int least = std::max(0, successes - runs_y), most = std::min(successes, runs_x);
  const auto growth = [&](double k) {  // probability of k + 1 over that of k
    return (runs_x - k) / (k + 1) * (successes - k) / (runs_y - successes + k + 1);
  };
  int mode = least;
  while (mode < most && growth(mode) > 1) ++mode;
  std::vector<double> likely(most - least + 1, 1);
  for (int k = mode; k < most; ++k) likely[k + 1 - least] = likely[k - least] * growth(k);
  for (int k = mode; k > least; --k) likely[k - 1 - least] = likely[k - least] / growth(k - 1);

  // equally likely tables may differ in their last bits
  const double limit = likely[successes_x - least] * (1 + 1e-7);
  double all = 0, extreme = 0;
  for (const double probability : likely) {
    all += probability;
    if (probability <= limit) extreme += probability;
  }
  return extreme / all;
}

std::vector<double> holm(std::span<const double> p) {
  for (const double value : p) {
    if (!(value >= 0 && value <= 1)) {
      throw Error(fmt::format("Holm's correction: {} is not a p-value", value));
    }
  }
  const std::vector<std::size_t> order = order_of(p);

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

// ---- power of Welch's test

double welch_power(const Effect& effect, int n_x, int n_y, double alpha) {
  check(effect, alpha);
  if (n_x < 2 || n_y < 2) throw Error("power: Welch's test needs at least two runs of each");

  const auto [error, degrees] = WelchError(effect.deviation_x, n_x, effect.deviation_y, n_y);
  if (error == 0) return 1;
  const double shift = std::abs(effect.difference) / error;
  const double bounded = std::min(shift, kLargeShift);
  const double critical = t_quantile(alpha / 2, degrees) * (bounded / shift);
  // rejection on both sides, also in the wrong direction
  return t_tail(critical, degrees, bounded) + t_tail(critical, degrees, -bounded);
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

// ---- rank tests

MannWhitneyTest mann_whitney_test(std::span<const double> x, std::span<const double> y,
                                  MannWhitneyMethod method) {
  check_sample(x, "Mann-Whitney test: first sample");
  check_sample(y, "Mann-Whitney test: second sample");

  const Ranking ranking = rank(x, y);
  const long long sum_x =
      std::accumulate(ranking.doubled.begin(), ranking.doubled.begin() + std::ssize(x), 0LL);
  const auto n = static_cast<double>(x.size());
  const auto m = static_cast<double>(y.size());
  const double u = static_cast<double>(sum_x) / 2 - n * (n + 1) / 2;

  const bool exact = method == MannWhitneyMethod::exact ||
                     (method == MannWhitneyMethod::automatic && x.size() + y.size() <= kExactRuns);
  return {u,
          exact ? exact_p(ranking, x.size(), static_cast<int>(sum_x)) : normal_p(ranking, n, m, u),
          exact};
}

StratifiedRankTest stratified_rank_test(const Strata& x, const Strata& y, bool same_runs) {
  std::vector<RankedTask> tasks;
  double observed = 0;
  for (std::size_t t = 0; t < x.size(); ++t) {
    const RankedTask task = rank_task(x[t], y[t]);
    observed += task.statistic();
    if (same_runs && t > 0) {
      std::ranges::transform(tasks[0].weights, task.weights, tasks[0].weights.begin(),
                             std::plus<>());
    } else {
      tasks.push_back(task);
    }
  }

  Random random(0, Stream::bootstrap);
  constexpr double kRounding = 1e-9;  // the same weights may be summed in a different order
  int as_far = 0;
  for (int n = 0; n < kPermutations; ++n) {
    double sum = 0;
    for (RankedTask& task : tasks) {
      // the first runs_x places of a random order
      for (std::size_t i = 0; i < task.runs_x; ++i) {
        const auto left = static_cast<std::uint32_t>(task.weights.size() - i);
        std::swap(task.weights[i], task.weights[i + random.below(left)]);
      }
      sum += task.statistic();
    }
    as_far += std::abs(sum) >= std::abs(observed) - kRounding;
  }
  return {.superiority = 0.5 + observed / static_cast<double>(x.size()),
          .p = (as_far + 1.0) / (kPermutations + 1.0)};
}

}  // namespace ovde
