// Bootstrap intervals against exact distributions and their promised coverage; profile and
// probability of improvement against counting.
#include "stats/bootstrap.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <ovde/error.h>
#include <ovde/random.h>

#include "stats/statistics.h"

namespace ovde {
namespace OVDE_TEST_FILE {

double pooled_mean(const Strata& strata) { return mean(pooled(strata)); }

TEST(Bootstrap, SameSeedSameIntervalOtherSeedOther) {
  const Strata strata = {{1, 2, 3, 4, 5}, {10, 20, 30}};
  const BootstrapOptions seven{.seed = 7, .resamples = 500}, eight{.seed = 8, .resamples = 500};
  const Interval first = bootstrap_interval(strata, pooled_mean, seven);
  const Interval again = bootstrap_interval(strata, pooled_mean, seven);
  const Interval other = bootstrap_interval(strata, pooled_mean, eight);
  EXPECT_EQ(first.low, again.low);
  EXPECT_EQ(first.high, again.high);
  EXPECT_TRUE(first.low != other.low || first.high != other.high);
  EXPECT_EQ(first.estimate, pooled_mean(strata));
}

// Of n values 0 or 1 with k ones, the resampled sum is binomial(n, k / n): its quantiles are known.
TEST(Bootstrap, QuantilesAreThoseOfTheBinomial) {
  std::vector<double> runs(20, 0.0);
  std::fill(runs.begin(), runs.begin() + 10, 1.0);
  // binomial(20, 1/2): P(X <= 5) = 0.0207, P(X <= 6) = 0.0577
  const Interval interval = bootstrap_interval({runs}, pooled_mean, {.resamples = 20000});
  EXPECT_DOUBLE_EQ(interval.low, 6.0 / 20);
  EXPECT_DOUBLE_EQ(interval.high, 14.0 / 20);
}

// Resampling must stay within a task: two tasks of constant, very different scores leave nothing to
// vary.
TEST(Bootstrap, StrataAreNotMixed) {
  const Interval interval =
      bootstrap_interval({{0, 0, 0}, {1000, 1000, 1000}}, pooled_mean, {.resamples = 200});
  EXPECT_EQ(interval.low, 500);
  EXPECT_EQ(interval.high, 500);
}

TEST(Bootstrap, SingleRunsAndEqualRunsGiveAPoint) {
  for (const Strata& strata : {Strata{{3}}, Strata{{3, 3, 3, 3}}, Strata{{1}, {5}}}) {
    const Interval interval = bootstrap_interval(strata, pooled_mean, {.resamples = 100});
    EXPECT_EQ(interval.low, 3);
    EXPECT_EQ(interval.high, 3);
  }
}

TEST(Bootstrap, WrongInputIsRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(bootstrap_interval({}, pooled_mean), Error);
  EXPECT_THROW(bootstrap_interval({{1, 2}, {}}, pooled_mean), Error);
  EXPECT_THROW(bootstrap_interval({{1, nan}}, pooled_mean), Error);
  EXPECT_THROW(bootstrap_interval({{1, 2}}, pooled_mean, {.resamples = 0}), Error);
  EXPECT_THROW(bootstrap_interval({{1, 2}}, pooled_mean, {.confidence = 1}), Error);
  EXPECT_THROW(probability_of_improvement({{1}}, {{1}, {2}}), Error);
  EXPECT_THROW(performance_profile({{1}}, {}), Error);
}

// How often the 95 % interval of the interquartile mean holds the true value: five tasks of ten
// runs each, the design of the paper's Table 3. Agarwal et al. (2021) find it close to nominal at
// this size; 600 studies, standard error 0.9 %.
TEST(Bootstrap, IntervalsHaveTheirCoverage) {
  const double centres[] = {-0.2, -0.1, 0, 0.1, 0.2};  // symmetric, so that the true value is 0
  Random random(11, Stream::user);
  const int studies = 600;
  int covered = 0;
  for (int i = 0; i < studies; ++i) {
    Strata strata(5, std::vector<double>(10));
    for (int task = 0; task < 5; ++task) {
      for (double& run : strata[task]) run = centres[task] + random.normal();
    }
    const Interval interval =
        bootstrap_interval(strata, [](const Strata& s) { return interquartile_mean(pooled(s)); },
                           {.seed = static_cast<std::uint64_t>(i), .resamples = 400});
    covered += interval.low <= 0 && 0 <= interval.high;
  }
  EXPECT_GT(covered / double(studies), 0.91);
  EXPECT_LT(covered / double(studies), 0.98);
}

TEST(PerformanceProfile, IsTheShareOfRunsAboveEachThreshold) {
  const Strata strata = {{0, 0.5, 1}, {0.2, 0.4, 0.6, 0.8, 1, 1.2}};
  const std::vector<double> thresholds = {-1, 0.5, 1, 2};
  const auto profile = performance_profile(strata, thresholds, {.resamples = 2000});
  ASSERT_EQ(profile.size(), 4u);
  EXPECT_NEAR(profile[0].estimate, 1, 1e-12);
  EXPECT_NEAR(profile[1].estimate, (1.0 / 3 + 4.0 / 6) / 2,
              1e-12);  // above, not at: 0.5 does not count
  EXPECT_NEAR(profile[2].estimate, (0.0 / 3 + 1.0 / 6) / 2, 1e-12);
  EXPECT_NEAR(profile[3].estimate, 0, 1e-12);
  for (std::size_t k = 0; k < profile.size(); ++k) {
    EXPECT_LE(profile[k].low, profile[k].estimate);
    EXPECT_GE(profile[k].high, profile[k].estimate);
    if (k > 0) {
      EXPECT_LE(profile[k].low, profile[k - 1].low);
    }
  }
  EXPECT_LT(profile[1].low, profile[1].high);
}

TEST(ProbabilityOfImprovement, CountsPairsTiesHalfAndAveragesTasks) {
  // first task: 3 wins, 1 tie of 4 pairs; second: never
  const Interval chance =
      probability_of_improvement({{2, 3}, {0, 0, 0}}, {{1, 2}, {5}}, {.resamples = 500});
  EXPECT_DOUBLE_EQ(chance.estimate, (3.5 / 4 + 0) / 2);
  const Interval reverse =
      probability_of_improvement({{1, 2}, {5}}, {{2, 3}, {0, 0, 0}}, {.resamples = 500});
  EXPECT_DOUBLE_EQ(reverse.estimate, 1 - chance.estimate);
  // equal algorithms that always score the same: one half, nothing to vary
  const Interval equal = probability_of_improvement({{5, 5}}, {{5, 5, 5}}, {.resamples = 50});
  EXPECT_EQ(equal.low, 0.5);
  EXPECT_EQ(equal.high, 0.5);
}

TEST(ProbabilityOfImprovement, IntervalTellsAClearWinnerFromNone) {
  Random random(12, Stream::user);
  Strata better(5, std::vector<double>(10)), base = better, same = better;
  for (int task = 0; task < 5; ++task) {
    for (int run = 0; run < 10; ++run) {
      base[task][run] = random.normal();
      same[task][run] = random.normal();
      better[task][run] = 1.5 + random.normal();
    }
  }
  EXPECT_GT(probability_of_improvement(better, base, {.resamples = 1000}).low, 0.5);
  const Interval even = probability_of_improvement(same, base, {.resamples = 1000});
  EXPECT_LT(even.low, 0.5);
  EXPECT_GT(even.high, 0.5);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
