#include "stats/bootstrap.h"

#include <fmt/format.h>

#include <ovde/error.h>
#include <ovde/random.h>
#include "stats/statistics.h"

namespace ovde {

namespace {

void check(const Strata& strata, const BootstrapOptions& options) {
  if (strata.empty()) throw Error("bootstrap: there are no strata");
  for (std::size_t i = 0; i < strata.size(); ++i) {
    check_sample(strata[i], fmt::format("bootstrap: stratum {}", i + 1));
  }
  if (options.resamples < 1) throw Error("bootstrap: needs at least one resample");
  if (!(options.confidence > 0 && options.confidence < 1)) {
    throw Error(fmt::format("bootstrap: confidence {} is not between 0 and 1", options.confidence));
  }
}

void resample(const Strata& from, Random& random, Strata& to) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto count = static_cast<std::uint32_t>(from[i].size());
    for (double& value : to[i]) value = from[i][random.below(count)];
  }
}

double chance_to_win(std::span<const double> x, std::span<const double> y) {
  double wins = 0;
  for (const double a : x) {
    for (const double b : y) wins += a > b ? 1 : a == b ? 0.5 : 0;
  }
  return wins / static_cast<double>(x.size() * y.size());
}

// Intervals of a statistic with several values, one for each, all from the same resamples.
std::vector<Interval> bootstrap_intervals(
    const Strata& strata, const std::function<std::vector<double>(const Strata&)>& statistic,
    const BootstrapOptions& options) {
  check(strata, options);
  const std::vector<double> estimate = statistic(strata);

  // the statistic of each resample, kept by value: drawn[value][resample]
  Random random(options.seed, Stream::bootstrap);
  Strata sample = strata;
  std::vector<std::vector<double>> drawn(estimate.size(), std::vector<double>(options.resamples));
  for (int r = 0; r < options.resamples; ++r) {
    resample(strata, random, sample);
    const std::vector<double> values = statistic(sample);
    for (std::size_t k = 0; k < values.size(); ++k) drawn[k][r] = values[k];
  }

  const double tail = (1 - options.confidence) / 2;
  std::vector<Interval> out;
  for (std::size_t k = 0; k < estimate.size(); ++k) {
    out.push_back({estimate[k], quantile(drawn[k], tail), quantile(drawn[k], 1 - tail)});
  }
  return out;
}

}  // namespace

Interval bootstrap_interval(const Strata& strata,
                            const std::function<double(const Strata&)>& statistic,
                            const BootstrapOptions& options) {
  return bootstrap_intervals(
      strata, [&](const Strata& sample) { return std::vector<double>{statistic(sample)}; },
      options)[0];
}

Interval mean_interval(const std::vector<double>& values) {
  return bootstrap_interval({values}, [](const Strata& strata) { return mean(strata[0]); },
                            {.resamples = 2000});
}

std::vector<double> pooled(const Strata& strata) {
  std::vector<double> all;
  for (const auto& runs : strata) all.insert(all.end(), runs.begin(), runs.end());
  return all;
}

std::vector<Interval> performance_profile(const Strata& strata, std::span<const double> thresholds,
                                          const BootstrapOptions& options) {
  check_sample(thresholds, "performance profile: thresholds");
  return bootstrap_intervals(
      strata,
      [&](const Strata& sample) {
        std::vector<double> fraction(thresholds.size(), 0.0);
        for (const auto& runs : sample) {
          const double weight = 1.0 / static_cast<double>(runs.size() * sample.size());
          for (const double score : runs) {
            for (std::size_t k = 0; k < fraction.size(); ++k) {
              fraction[k] += score > thresholds[k] ? weight : 0;
            }
          }
        }
        return fraction;
      },
      options);
}

Interval probability_of_improvement(const Strata& x, const Strata& y,
                                    const BootstrapOptions& options) {
  if (x.size() != y.size()) {
    throw Error(fmt::format("probability of improvement: {} tasks against {}", x.size(), y.size()));
  }
  // both algorithms resample together: the strata of x, then those of y
  Strata both = x;
  both.insert(both.end(), y.begin(), y.end());
  const std::size_t tasks = x.size();
  return bootstrap_interval(
      both,
      [tasks](const Strata& sample) {
        double sum = 0;
        for (std::size_t i = 0; i < tasks; ++i) sum += chance_to_win(sample[i], sample[tasks + i]);
        return sum / static_cast<double>(tasks);
      },
      options);
}

}  // namespace ovde
