#include "stats/permutation.h"

#include <algorithm>
#include <cmath>

#include <ovde/random.h>

namespace ovde {

namespace {

// The runs of one task as a share of the statistic: a run of x adds its weight, which is its
// midrank from the middle, over the number of pairs.
struct Ranked {
  std::size_t runs_x;
  std::vector<double> weights;  // those of x first
};

Ranked rank_runs(const std::vector<double>& x, const std::vector<double>& y) {
  Ranked task{x.size(), {}};
  std::vector<double> all = x;
  all.insert(all.end(), y.begin(), y.end());
  std::vector<double> sorted = all;
  std::ranges::sort(sorted);
  const auto pairs = static_cast<double>(x.size() * y.size());
  for (const double value : all) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), value);
    const double midrank =
        static_cast<double>((first - sorted.begin()) + (last - sorted.begin()) + 1) / 2;
    task.weights.push_back((midrank - (static_cast<double>(all.size()) + 1) / 2) / pairs);
  }
  return task;
}

double statistic(const Ranked& task) {
  double sum = 0;
  for (std::size_t i = 0; i < task.runs_x; ++i) sum += task.weights[i];
  return sum;
}

}  // namespace

StratifiedRankTest stratified_rank_test(const Strata& x, const Strata& y,
                                        const PermutationOptions& options) {
  std::vector<Ranked> tasks;
  double observed = 0;
  for (std::size_t t = 0; t < x.size(); ++t) {
    tasks.push_back(rank_runs(x[t], y[t]));
    observed += statistic(tasks.back());
  }

  Random random(options.seed, Stream::bootstrap);
  constexpr double kRounding = 1e-9;  // sums of the same weights in another order are equal
  int as_far = 0;
  for (int n = 0; n < options.permutations; ++n) {
    double sum = 0;
    for (Ranked& task : tasks) {
      // the first runs_x places of a random order
      for (std::size_t i = 0; i < task.runs_x; ++i) {
        const auto left = static_cast<std::uint32_t>(task.weights.size() - i);
        std::swap(task.weights[i], task.weights[i + random.below(left)]);
      }
      sum += statistic(task);
    }
    as_far += std::abs(sum) >= std::abs(observed) - kRounding;
  }
  return {.superiority = 0.5 + observed / static_cast<double>(x.size()),
          .p = (as_far + 1.0) / (options.permutations + 1.0)};
}

}  // namespace ovde
