#include "stats/rank_tests.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <vector>

#include <ovde/random.h>
#include "stats/distributions.h"
#include "stats/statistics.h"

namespace ovde {

namespace {

// Both samples ranked together. Ranks are doubled, so that the midranks of ties are whole numbers.
struct Ranking {
  std::vector<int> doubled;  // x's values first, then y's
  double tie_term = 0;       // sum of t^3 - t over the groups of t equal values
};

Ranking rank(std::span<const double> x, std::span<const double> y) {
  std::vector<double> values(x.begin(), x.end());
  values.insert(values.end(), y.begin(), y.end());
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });

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
  return 2 * cdf(complement(Normal(), z));
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

StratifiedRankTest stratified_rank_test(const Strata& x, const Strata& y,
                                        const PermutationOptions& options) {
  std::vector<RankedTask> tasks;
  double observed = 0;
  for (std::size_t t = 0; t < x.size(); ++t) {
    tasks.push_back(rank_task(x[t], y[t]));
    observed += tasks.back().statistic();
  }

  Random random(options.seed, Stream::bootstrap);
  constexpr double kRounding = 1e-9;  // the same weights may be summed in a different order
  int as_far = 0;
  for (int n = 0; n < options.permutations; ++n) {
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
          .p = (as_far + 1.0) / (options.permutations + 1.0)};
}

}  // namespace ovde
