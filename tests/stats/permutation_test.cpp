#include "stats/significance.h"

#include <gtest/gtest.h>

#include <cmath>

#include <ovde/random.h>

namespace ovde {
namespace OVDE_TEST_FILE {

std::vector<double> normal(int count, double mean, std::uint64_t seed) {
  Random random(seed, Stream::user);
  std::vector<double> out;
  for (int i = 0; i < count; ++i) out.push_back(mean + random.normal());
  return out;
}

// With one task it is the rank sum test, whose distribution is known exactly; ties included.
TEST(StratifiedRanks, OfOneTaskAreTheMannWhitneyTest) {
  const std::vector<std::pair<std::vector<double>, std::vector<double>>> samples = {
      {{1, 2, 3, 4.5, 7}, {0, 0.5, 2.5, 1.5}},
      {{0, 0, 100, 100, 100, 0}, {0, 0, 0, 100, 0, 0}},
      {normal(12, 0.8, 1), normal(15, 0, 2)}};
  for (const auto& [x, y] : samples) {
    const auto test = stratified_rank_test({x}, {y});
    const auto exact = mann_whitney_test(x, y, MannWhitneyMethod::exact);
    EXPECT_NEAR(test.superiority, exact.u / static_cast<double>(x.size() * y.size()), 1e-12);
    EXPECT_NEAR(test.p, exact.p, 5 * std::sqrt(exact.p * (1 - exact.p) / 1e5) + 2e-5);
  }
}

// All ways to label two tasks of 2 + 2 runs: 36, each counted.
TEST(StratifiedRanks, OfTwoTasksAreTheShareOfAllLabellings) {
  const Strata x = {{3, 4}, {5, 9}}, y = {{1, 2}, {7, 6}};
  // ranks from the middle, over pairs: task 1 of x {0.5, 1.5} / 4, task 2 {-1.5, 1.5} / 4
  const std::vector<double> weights = {-1.5, -0.5, 0.5, 1.5};
  int as_far = 0;
  for (int a = 0; a < 4; ++a) {
    for (int b = a + 1; b < 4; ++b) {
      for (int c = 0; c < 4; ++c) {
        for (int d = c + 1; d < 4; ++d)
          as_far += std::abs(weights[a] + weights[b] + weights[c] + weights[d]) >= 2.0 - 1e-12;
      }
    }
  }
  const auto test = stratified_rank_test(x, y);
  EXPECT_NEAR(test.p, as_far / 36.0, 0.01);
  EXPECT_NEAR(test.superiority, 0.5 + (2.0 / 4 + 0) / 2, 1e-12);
}

// Repeating the same runs under other names is no further evidence.
TEST(StratifiedRanks, OfTheSameRunsHaveOneLabelForEach) {
  const std::vector<double> a = normal(5, 0, 1), b = normal(5, 1.5, 2);
  const double once = stratified_rank_test({a}, {b}).p;
  const Strata x(10, a), y(10, b);
  EXPECT_EQ(stratified_rank_test(x, y, true).p, once);
  EXPECT_LT(stratified_rank_test(x, y).p, once / 10);
  EXPECT_EQ(stratified_rank_test({{1}, {2}, {3}}, {{0}, {1}, {2}}, true).p, 1);
  // run 0 of x is the best in one task, run 1 in the other: together they have equal ranks
  EXPECT_NEAR(stratified_rank_test({{4, 2}, {2, 4}}, {{1, 3}, {3, 1}}, true).p, 1 / 3.0, 0.01);
}

TEST(StratifiedRanks, SmallEffectsInManyTasksAddUp) {
  Strata x, y, none;
  for (int t = 0; t < 12; ++t) {
    x.push_back(normal(20, 1000 * t + 0.5, 2 * t));
    y.push_back(normal(20, 1000 * t, 2 * t + 1));
    none.push_back(normal(20, 1000 * t, 2 * t + 100));
  }
  EXPECT_LT(stratified_rank_test(x, y).p, 1e-4);
  EXPECT_GT(stratified_rank_test(none, y).p, 0.01);
  EXPECT_EQ(stratified_rank_test(x, y).p, stratified_rank_test(x, y).p);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
