// Significance, where the truth is known, and its rate of error.
#include "study/analyse/comparison.h"

#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace ovde {
namespace OVDE_TEST_FILE {

std::vector<double> normal_sample(std::mt19937_64& random, int runs, double mean,
                                  double deviation) {
  std::normal_distribution<double> draw(mean, deviation);
  std::vector<double> out;
  for (int i = 0; i < runs; ++i) out.push_back(draw(random));
  return out;
}

// A study of six rows with ten runs a cell: in the first three ours is better by `effect`
// deviations, in the others nothing differs but the spread.
std::vector<Contest> simulated_study(std::mt19937_64& random, double effect) {
  std::vector<Contest> out;
  for (int row = 0; row < 6; ++row) {
    const double shift = row < 3 ? effect : 0;
    out.push_back({std::to_string(row), "ours", "baseline",
                   normal_sample(random, 10, 100 + 10 * shift, 10),
                   normal_sample(random, 10, 100, 10 + 2 * row)});
  }
  return out;
}

constexpr int kStudies = 2000;

TEST(SlowComparison, ErrorRateStaysBelowTheLevel) {
  std::mt19937_64 random(1);
  int studies_with_a_claim = 0;
  for (int study = 0; study < kStudies; ++study) {
    bool claim = false;
    for (const Comparison& each : compare(simulated_study(random, 0)))
      claim |= each.verdict != Verdict::no_difference;
    studies_with_a_claim += claim;
  }
  // at most 5 %, and not far below: binomial deviation 0.5 %
  EXPECT_LT(studies_with_a_claim, 0.065 * kStudies);
  EXPECT_GT(studies_with_a_claim, 0.025 * kStudies);
}

TEST(SlowComparison, LargeDifferencesAreFound) {
  std::mt19937_64 random(2);
  int seen = 0, false_claims = 0, wrong_direction = 0;
  for (int study = 0; study < kStudies; ++study) {
    bool false_claim = false;
    const auto comparisons = compare(simulated_study(random, 3));
    for (int row = 0; row < 6; ++row) {
      const Verdict verdict = comparisons[static_cast<std::size_t>(row)].verdict;
      if (row < 3) {
        seen += verdict == Verdict::better;
        wrong_direction += verdict == Verdict::worse;
      } else {
        false_claim |= verdict != Verdict::no_difference;
      }
    }
    false_claims += false_claim;
  }
  EXPECT_GT(seen, 0.97 * 3 * kStudies);
  EXPECT_EQ(wrong_direction, 0);
  EXPECT_LT(false_claims, 0.065 * kStudies);
}

// Runs that reach a goal or do not, with the same chance for both algorithms.
TEST(SlowComparison, ErrorRateOfSuccessCountsStaysBelowTheLevel) {
  std::mt19937_64 random(3);
  std::bernoulli_distribution reaches(0.5);
  const auto count = [&] {
    int out = 0;
    for (int i = 0; i < 20; ++i) out += reaches(random);
    return out;
  };
  int claims = 0;
  for (int study = 0; study < kStudies; ++study) {
    std::vector<SuccessContest> contests;
    for (int row = 0; row < 6; ++row)
      contests.push_back({std::to_string(row), "ours", "baseline", count(), 20, count(), 20});
    bool claim = false;
    for (const Comparison& each : compare(contests))
      claim |= each.verdict != Verdict::no_difference;
    claims += claim;
  }
  EXPECT_LT(claims, 0.065 * kStudies);
}

TEST(SlowComparison, NamesTheDirection) {
  const std::vector<double> low = {1, 2, 3, 2, 1}, high = {101, 102, 103, 102, 101};
  const auto out =
      compare({{"up", "ours", "baseline", high, low}, {"down", "ours", "baseline", low, high}});
  EXPECT_EQ(out[0].verdict, Verdict::better);
  EXPECT_EQ(out[1].verdict, Verdict::worse);
  EXPECT_EQ(out[0].test, TestKind::welch);
}

// Constant samples leave Welch's test without an estimate of the noise: the rank test decides.
TEST(SlowComparison, ConstantSamplesAreDecidedByRanks) {
  const std::vector<double> zeros(5, 0.0), hundreds(5, 100.0);
  const auto out = compare({{"differ", "ours", "baseline", hundreds, zeros}});
  EXPECT_EQ(out[0].test, TestKind::mann_whitney);
  EXPECT_NEAR(out[0].p, 2.0 / 252, 1e-12);
  EXPECT_EQ(out[0].verdict, Verdict::better);

  const auto equal = compare({{"equal", "ours", "baseline", zeros, zeros}});
  EXPECT_EQ(equal[0].verdict, Verdict::no_difference);
}

TEST(SlowComparison, ManyTestsMakeEachHarder) {
  const std::vector<double> zeros(5, 0.0), hundreds(5, 100.0);
  std::vector<Contest> contests(7, {"row", "ours", "baseline", hundreds, zeros});
  for (const Comparison& each : compare(contests)) {
    EXPECT_NEAR(each.adjusted, 7 * 2.0 / 252, 1e-12);
    EXPECT_EQ(each.verdict, Verdict::no_difference);
  }
}

TEST(SlowComparison, MissingAndSingleRunsAreNotTested) {
  const std::vector<double> zeros(5, 0.0), hundreds(5, 100.0);
  const auto out = compare({{"none", "ours", "baseline", {}, zeros},
                            {"one", "ours", "baseline", {3.0}, zeros},
                            {"whole", "ours", "baseline", hundreds, zeros}});
  EXPECT_EQ(out[0].verdict, Verdict::untestable);
  EXPECT_EQ(out[1].verdict, Verdict::untestable);
  EXPECT_EQ(out[2].verdict, Verdict::better);
  EXPECT_NEAR(out[2].adjusted, out[2].p, 1e-12);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
