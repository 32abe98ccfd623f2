// Descriptive statistics and the score of a run, against values worked out by hand or published.
#include "stats/statistics.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <ovde/error.h>
#include <ovde/random.h>

namespace ovde {
namespace OVDE_TEST_FILE {

using Sample = std::vector<double>;

// Student (1908), "The probable error of a mean", table of the effect of two soporifics: means
// +0.75 and +2.33, standard deviations (divisor n, as he used) 1.70 and 1.90.
const Sample kStudentFirst = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
const Sample kStudentSecond = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};

TEST(Statistics, MeanAndDeviationOfStudentsSoporifics) {
  EXPECT_NEAR(mean(kStudentFirst), 0.75, 1e-12);
  EXPECT_NEAR(mean(kStudentSecond), 2.33, 1e-12);
  const double to_divisor_n = std::sqrt(9.0 / 10.0);
  EXPECT_NEAR(standard_deviation(kStudentFirst) * to_divisor_n, 1.70, 0.005);
  EXPECT_NEAR(standard_deviation(kStudentSecond) * to_divisor_n, 1.90, 0.005);
}

// The difficult case of NIST's Statistical Reference Datasets (NumAcc4): a huge mean and a tiny
// spread.
TEST(Statistics, DeviationSurvivesALargeMean) {
  Sample values = {10000000.2};
  for (int i = 0; i < 500; ++i) {
    values.push_back(10000000.1);
    values.push_back(10000000.3);
  }
  EXPECT_NEAR(mean(values), 10000000.2, 1e-7);
  EXPECT_NEAR(standard_deviation(values), 0.1, 1e-8);
}

TEST(Statistics, MedianAndQuantilesInterpolate) {
  EXPECT_DOUBLE_EQ(median(Sample{3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median(Sample{4, 1, 3, 2}), 2.5);
  // Hyndman and Fan's type 7: position (n - 1) q
  EXPECT_DOUBLE_EQ(quantile(Sample{1, 2, 3, 4}, 0.25), 1.75);
  EXPECT_DOUBLE_EQ(quantile(Sample{1, 2, 3, 4}, 0.75), 3.25);
  EXPECT_DOUBLE_EQ(quantile(Sample{5, 9}, 0), 5);
  EXPECT_DOUBLE_EQ(quantile(Sample{5, 9}, 1), 9);
}

// rliable's definition, scipy.stats.trim_mean(x, 0.25): floor(n / 4) values go at either end.
TEST(Statistics, InterquartileMeanTrimsAQuarterAtEitherEnd) {
  // the textbook example of an interquartile mean: 1 3 4 | 5 6 6 7 7 8 | 8 9 38
  EXPECT_DOUBLE_EQ(interquartile_mean(Sample{5, 8, 4, 38, 8, 6, 9, 7, 7, 3, 1, 6}), 6.5);
  // ten runs: two cut off at either end, six stay
  EXPECT_DOUBLE_EQ(interquartile_mean(Sample{1000, 1, 2, 3, 4, 5, 6, 7, 8, -1000}), 4.5);
  // fewer than four: nothing to cut
  EXPECT_DOUBLE_EQ(interquartile_mean(Sample{1, 2, 9}), 4);
}

TEST(Statistics, OneValueAndEqualValuesAreDefined) {
  for (const Sample& values : {Sample{7}, Sample{7, 7, 7, 7, 7}}) {
    EXPECT_EQ(mean(values), 7);
    EXPECT_EQ(standard_deviation(values), 0);
    EXPECT_EQ(median(values), 7);
    EXPECT_EQ(interquartile_mean(values), 7);
  }
}

TEST(Statistics, EmptyOrNonFiniteSamplesAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Sample& values : {Sample{}, Sample{1, nan}, Sample{infinity, 1}}) {
    EXPECT_THROW(mean(values), Error);
    EXPECT_THROW(standard_deviation(values), Error);
    EXPECT_THROW(median(values), Error);
    EXPECT_THROW(interquartile_mean(values), Error);
  }
  EXPECT_THROW(quantile(Sample{1, 2}, 1.5), Error);
  try {
    mean(Sample{1, 2, nan});
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "mean: value 3 of 3 is not finite");
  }
}

TEST(RunScore, TakesEightPercentRoundedUpAndAtMostAHundredEpochs) {
  // the lengths of the paper's runs
  EXPECT_EQ(score_epochs(250), 20);
  EXPECT_EQ(score_epochs(300), 24);
  EXPECT_EQ(score_epochs(1250), 100);
  EXPECT_EQ(score_epochs(2500), 100);
  // short ones: never none
  EXPECT_EQ(score_epochs(1), 1);
  EXPECT_EQ(score_epochs(12), 1);
  EXPECT_EQ(score_epochs(13), 2);
  EXPECT_EQ(score_epochs(1249), 100);
  EXPECT_THROW(score_epochs(0), Error);
}

TEST(RunScore, IsTheMeanOfTheLastReturnsOnly) {
  Sample returns(250, 0.0);
  for (int i = 230; i < 250; ++i) returns[i] = i;
  EXPECT_DOUBLE_EQ(run_score(returns), 239.5);
  EXPECT_DOUBLE_EQ(run_score(Sample{3}), 3);
  EXPECT_THROW(run_score(Sample{}), Error);
  EXPECT_THROW(run_score(Sample{1, std::numeric_limits<double>::quiet_NaN()}), Error);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
