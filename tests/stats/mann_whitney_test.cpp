// The rank test against printed tables, published examples and enumeration of every permutation.
#include "stats/significance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <ovde/error.h>
#include <ovde/random.h>

namespace ovde {
namespace OVDE_TEST_FILE {

using Sample = std::vector<double>;

double pairs_won(const Sample& x, const Sample& y) {
  double u = 0;
  for (const double a : x) {
    for (const double b : y) u += a > b ? 1 : a == b ? 0.5 : 0;
  }
  return u;
}

// Every way to deal the values out to the two samples, counted one by one.
double enumerated_p(const Sample& x, const Sample& y) {
  Sample all = x;
  all.insert(all.end(), y.begin(), y.end());
  const double centre = x.size() * y.size() / 2.0;
  const double distance = std::abs(pairs_won(x, y) - centre);
  std::vector<bool> to_x(all.size(), false);
  std::fill(to_x.begin(), to_x.begin() + std::ssize(x), true);
  int extreme = 0, count = 0;
  do {
    Sample a, b;
    for (std::size_t i = 0; i < all.size(); ++i) (to_x[i] ? a : b).push_back(all[i]);
    extreme += std::abs(pairs_won(a, b) - centre) >= distance;
    ++count;
  } while (std::prev_permutation(to_x.begin(), to_x.end()));
  return extreme / double(count);
}

// Two samples of n and m different values with a given U.
std::pair<Sample, Sample> samples_with(int n, int m, int u) {
  Sample y(m), x;
  for (int j = 0; j < m; ++j) y[j] = j + 1;
  for (int i = 0; i < n; ++i) {
    const int wins = std::min(u, m);  // pairs this value wins
    u -= wins;
    x.push_back(wins + 0.5 + 0.01 * i);
  }
  return {x, y};
}

// Critical values of U at 0.05 two-sided, as printed in textbooks (after Milton 1964): the largest
// significant U.
TEST(MannWhitney, MatchesTheTableOfCriticalValues) {
  const int table[][3] = {{2, 8, 0},     {3, 5, 0},    {4, 4, 0},    {4, 9, 4},    {5, 5, 2},
                          {5, 10, 8},    {6, 6, 5},    {7, 7, 8},    {8, 8, 13},   {9, 9, 17},
                          {10, 10, 23},  {12, 11, 33}, {13, 16, 59}, {15, 15, 64}, {10, 20, 55},
                          {19, 18, 106}, {20, 20, 127}};
  for (const auto& [n, m, critical] : table) {
    const auto [x, y] = samples_with(n, m, critical);
    const auto [above_x, above_y] = samples_with(n, m, critical + 1);
    const MannWhitneyTest test = mann_whitney_test(x, y);
    EXPECT_EQ(test.u, critical);
    EXPECT_TRUE(test.exact);
    EXPECT_LE(test.p, 0.05) << n << " " << m;
    EXPECT_GT(mann_whitney_test(above_x, above_y).p, 0.05) << n << " " << m;
  }
}

// The example of SciPy's page on mannwhitneyu (age at diagnosis of type II diabetes): exact p =
// 1/9.
TEST(MannWhitney, MatchesScipysExample) {
  const Sample males = {19, 22, 16, 29, 24}, females = {20, 11, 17, 12};
  const MannWhitneyTest exact = mann_whitney_test(males, females);
  EXPECT_EQ(exact.u, 17);
  EXPECT_NEAR(exact.p, 1.0 / 9, 1e-14);
  const MannWhitneyTest normal = mann_whitney_test(males, females, MannWhitneyMethod::normal);
  EXPECT_FALSE(normal.exact);
  EXPECT_NEAR(normal.p, 0.11134688653314041, 1e-14);
}

// Hollander and Wolfe (1973), permeability of the chorioamnion; R's wilcox.test: W = 35, one-sided
// p = 0.1272.
TEST(MannWhitney, MatchesHollanderAndWolfe) {
  const Sample term = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
  const Sample early = {1.15, 0.88, 0.90, 0.74, 1.21};
  const MannWhitneyTest test = mann_whitney_test(term, early);
  EXPECT_EQ(test.u, 35);
  EXPECT_NEAR(test.p, 2 * 0.1272, 1e-4);
}

// With ties: diastolic blood pressure, StatXact-5 manual (Mehta and Patel 2001, p. 229), exact
// two-sided p = 0.0989.
TEST(MannWhitney, MatchesStatXactWithTies) {
  const Sample treated = {94, 108, 110, 90};
  const Sample control = {80, 94, 85, 90, 90, 90, 108, 94, 78, 105, 88};
  EXPECT_NEAR(mann_whitney_test(treated, control).p, 0.0989, 5e-5);
}

// With ties, normal approximation: R's wilcox.test(extra ~ group, data = sleep): W = 25.5, p-value
// = 0.06933.
TEST(MannWhitney, NormalApproximationMatchesRWithTies) {
  const Sample first = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
  const Sample second = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
  const MannWhitneyTest test = mann_whitney_test(first, second, MannWhitneyMethod::normal);
  EXPECT_EQ(test.u, 25.5);
  EXPECT_NEAR(test.p, 0.06933, 5e-6);
}

TEST(MannWhitney, ExactAgreesWithEnumerationWithAndWithoutTies) {
  Random random(4, Stream::user);
  for (int round = 0; round < 60; ++round) {
    Sample x(2 + random.below(5)), y(2 + random.below(6));
    const bool ties = round % 2 == 0;
    for (Sample* sample : {&x, &y}) {
      for (double& value : *sample) value = ties ? random.below(4) : random.normal();
    }
    const MannWhitneyTest test = mann_whitney_test(x, y);
    EXPECT_NEAR(test.u, pairs_won(x, y), 1e-12);
    EXPECT_NEAR(test.p, enumerated_p(x, y), 1e-12);
  }
}

TEST(MannWhitney, NormalIsCloseToExactWhereAutomaticSwitches) {
  Random random(5, Stream::user);
  for (int round = 0; round < 20; ++round) {
    Sample x(kExactRuns / 2), y(kExactRuns / 2 + 1);
    for (double& value : x) value = random.normal();
    for (double& value : y) value = 0.5 * round / 10 + random.normal();
    const MannWhitneyTest automatic = mann_whitney_test(x, y);
    EXPECT_FALSE(automatic.exact);
    EXPECT_NEAR(automatic.p, mann_whitney_test(x, y, MannWhitneyMethod::exact).p, 0.003);
  }
}

TEST(MannWhitney, PValuesUnderTheNullAreSubUniform) {
  // five seeds each, some scores equal as GridChaos has them; 20,000 studies
  Random random(6, Stream::user);
  const int studies = 20000;
  const double level[] = {0.01, 0.05, 0.2, 0.5};
  int below[4] = {0, 0, 0, 0};
  Sample x(5), y(5);
  for (int i = 0; i < studies; ++i) {
    for (Sample* sample : {&x, &y}) {
      for (double& value : *sample) value = std::max(0.0, random.normal());
    }
    const double p = mann_whitney_test(x, y).p;
    for (int k = 0; k < 4; ++k) below[k] += p <= level[k];
  }
  for (int k = 0; k < 4; ++k) {
    // three standard errors above the level at most
    const double allowed = level[k] + 3 * std::sqrt(level[k] * (1 - level[k]) / studies);
    EXPECT_LE(below[k] / double(studies), allowed) << level[k];
  }
  EXPECT_GT(below[3], studies / 10);  // and not because it never rejects
}

TEST(MannWhitney, Edges) {
  EXPECT_EQ(mann_whitney_test(Sample{1}, Sample{2}).p, 1);
  EXPECT_EQ(mann_whitney_test(Sample{7, 7, 7}, Sample{7, 7}).p, 1);
  EXPECT_EQ(mann_whitney_test(Sample(100, 7.0), Sample(100, 7.0)).p, 1);
  // constant but different, five seeds: 2 of 252 ways
  EXPECT_NEAR(mann_whitney_test(Sample(5, 100.0), Sample(5, 0.0)).p, 2.0 / 252, 1e-15);
  EXPECT_THROW(mann_whitney_test(Sample{}, Sample{1}), Error);
  EXPECT_THROW(mann_whitney_test(Sample{1}, Sample{std::numeric_limits<double>::quiet_NaN()}),
               Error);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
