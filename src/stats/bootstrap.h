// Stratified bootstrap intervals and the aggregate measures that come with them (Agarwal et al.
// 2021, "Deep reinforcement learning at the edge of the statistical precipice"). A stratum holds
// the runs of one task; resampling draws runs with replacement within each task.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ovde {

// [task][run]; tasks may have different numbers of runs
using Strata = std::vector<std::vector<double>>;

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

// Percentile interval of the mean, with 2,000 resamples; `values` must not be empty.
Interval mean_interval(const std::vector<double>& values);

// All runs of all strata in one sample.
std::vector<double> pooled(const Strata& strata);

// For each threshold, the fraction of runs whose score is above it, with a pointwise interval.
// Every task has the same weight. Scores of different tasks must be on one scale.
std::vector<Interval> performance_profile(const Strata& strata, std::span<const double> thresholds,
                                          const BootstrapOptions& options = {});

// P(X > Y) for a run of each on the same task, ties counting half, averaged over tasks. The tasks
// need no common scale.
Interval probability_of_improvement(const Strata& x, const Strata& y,
                                    const BootstrapOptions& options = {});

}  // namespace ovde
