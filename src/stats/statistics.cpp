#include "stats/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include <ovde/error.h>

namespace ovde {

namespace {

std::vector<double> sorted(std::span<const double> values) {
  std::vector<double> out(values.begin(), values.end());
  std::ranges::sort(out);
  return out;
}

}  // namespace

void check_sample(std::span<const double> values, std::string_view what) {
  if (values.empty()) throw Error(fmt::format("{}: the sample is empty", what));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      throw Error(fmt::format("{}: value {} of {} is not finite", what, i + 1, values.size()));
    }
  }
}

double mean(std::span<const double> values) {
  check_sample(values, "mean");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(std::span<const double> values) {
  check_sample(values, "standard deviation");
  if (values.size() == 1) return 0;

  // two passes: the one-pass formula loses all digits where the mean is large and the spread small
  const double centre = mean(values);
  double squares = 0;
  for (const double x : values) squares += (x - centre) * (x - centre);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double quantile(std::span<const double> values, double q) {
  check_sample(values, "quantile");
  if (!(q >= 0 && q <= 1)) throw Error(fmt::format("quantile: {} is not between 0 and 1", q));

  const std::vector<double> ordered = sorted(values);
  const double position = q * static_cast<double>(ordered.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, ordered.size() - 1);
  return std::lerp(ordered[below], ordered[above], position - static_cast<double>(below));
}

double median(std::span<const double> values) { return quantile(values, 0.5); }

double interquartile_mean(std::span<const double> values) {
  check_sample(values, "interquartile mean");
  const std::vector<double> ordered = sorted(values);
  const std::size_t cut = ordered.size() / 4;
  return mean(std::span(ordered).subspan(cut, ordered.size() - 2 * cut));
}

int score_epochs(int epochs) {
  if (epochs < 1) throw Error(fmt::format("score: a run of {} epochs has none", epochs));
  // whole numbers: 0.08 * 1250 in floating point need not be 100
  const long long share = (8LL * epochs + 99) / 100;
  return static_cast<int>(std::min(share, 100LL));
}

double run_score(std::span<const double> evaluation_returns) {
  const int epochs = score_epochs(static_cast<int>(evaluation_returns.size()));
  std::vector<double> tail;
  for (const double x : evaluation_returns.last(static_cast<std::size_t>(epochs))) {
    if (!std::isnan(x)) tail.push_back(x);
  }
  check_sample(tail, "score: evaluation returns of the last epochs");
  return mean(tail);
}

std::span<const double> evaluated_part(std::span<const double> evaluation_returns) {
  while (!evaluation_returns.empty() && std::isnan(evaluation_returns.back()))
    evaluation_returns = evaluation_returns.first(evaluation_returns.size() - 1);
  return evaluation_returns;
}

}  // namespace ovde
