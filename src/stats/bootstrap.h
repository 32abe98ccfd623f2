// Stratified bootstrap intervals and the aggregate measures that come with them (Agarwal et al.
// 2021, "Deep reinforcement learning at the edge of the statistical precipice"). A stratum holds
// the runs of one task; resampling draws runs with replacement within each, so that the set of
// tasks stays what it is.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ovde {

using Strata =
    std::vector<std::vector<double>>;  // [task][run]; tasks may have different numbers of runs

struct Interval {
  double estimate;  // the statistic of the sample itself
  double low, high;
};

struct BootstrapOptions {
  std::uint64_t seed = 0;  // equal seeds give equal intervals (Stream::bootstrap)
  int resamples = 10000;
  double confidence = 0.95;
};

// Percentile interval of any statistic of the strata. A stratum of one run resamples to itself and
// adds no width: from single runs the interval is a point, which means "unknown", not "certain".
Interval bootstrap_interval(const Strata& strata,
                            const std::function<double(const Strata&)>& statistic,
                            const BootstrapOptions& options = {});

// Of the mean, as reports put it around one; `values` must not be empty.
Interval mean_interval(const std::vector<double>& values);

// The same for a statistic with several values, all from the same resamples; one interval for each
// value.
std::vector<Interval> bootstrap_intervals(
    const Strata& strata, const std::function<std::vector<double>(const Strata&)>& statistic,
    const BootstrapOptions& options = {});

// All runs of all strata in one sample: what the interquartile mean over tasks is taken of.
std::vector<double> pooled(const Strata& strata);

// For each threshold, the fraction of runs whose score is above it, every task counting the same;
// the band is pointwise. Scores of different tasks have to be brought to one scale before.
std::vector<Interval> performance_profile(const Strata& strata, std::span<const double> thresholds,
                                          const BootstrapOptions& options = {});

// P(X > Y) for a run of each on the same task, ties counting half, averaged over tasks. Needs no
// common scale.
Interval probability_of_improvement(const Strata& x, const Strata& y,
                                    const BootstrapOptions& options = {});

}  // namespace ovde
