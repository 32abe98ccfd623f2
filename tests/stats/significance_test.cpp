// Welch's and Fisher's tests, Holm's correction and the sample size, against published examples.
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

struct WelchExample {
  Sample x, y;
  double p;
};

// The data sets of Rosetta Code's task "Welch's t-test"; its answers are those of R's t.test. The
// first three are also the examples of Wikipedia's article: equal variances; unequal variances and
// sizes; the larger sample varies more.
const std::vector<WelchExample> kWelchExamples = {
    {{27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4},
     {27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4},
     0.021378001462867},
    {{17.2, 20.9, 22.6, 18.1, 21.7, 21.4, 23.5, 24.2, 14.7, 21.8},
     {21.5, 22.8, 21.0, 23.0, 21.6, 23.6, 22.5, 20.7, 23.4, 21.8,
      20.7, 21.7, 21.5, 22.5, 23.6, 21.5, 22.5, 23.5, 21.5, 21.8},
     0.148841696605327},
    {{19.8, 20.4, 19.6, 17.8, 18.5, 18.9, 18.3, 18.9, 19.5, 22.0},
     {28.2, 26.6, 20.1, 23.3, 25.2, 22.1, 17.7, 27.6, 20.6, 13.7,
      23.2, 17.5, 20.6, 18.0, 23.9, 21.6, 24.3, 20.4, 24.0, 13.2},
     0.0359722710297968},
    {{30.02, 29.99, 30.11, 29.97, 30.01, 29.99},
     {29.89, 29.93, 29.72, 29.98, 30.02, 29.98},
     0.090773324285671},
    {{3.0, 4.0, 1.0, 2.1}, {490.2, 340.0, 433.9}, 0.0107515611497845},
    {{0.010268, 0.000167, 0.000167}, {0.159258, 0.136278, 0.122389}, 0.00339907162713746},
    {{1.0 / 15, 10.0 / 62}, {1.0 / 10, 2.0 / 50}, 0.52726574965384},
    {{9.0 / 23, 21.0 / 45, 0}, {0, 42.0 / 94, 0}, 0.545266866977794},
};

TEST(Welch, MatchesThePublishedExamples) {
  for (const WelchExample& example : kWelchExamples) {
    EXPECT_NEAR(welch_test(example.x, example.y)->p, example.p, 1e-12);
    EXPECT_NEAR(welch_test(example.y, example.x)->p, example.p, 1e-12);
  }
  // Wikipedia gives t and the degrees of freedom of the first three
  const double t[] = {-2.46, -1.57, -2.22}, degrees[] = {25.0, 9.9, 24.5};
  for (int i = 0; i < 3; ++i) {
    const auto test = welch_test(kWelchExamples[i].x, kWelchExamples[i].y);
    EXPECT_NEAR(test->t, t[i], 0.005);
    EXPECT_NEAR(test->degrees_of_freedom, degrees[i], 0.05);
  }
}

// R's help page of t.test: t.test(extra ~ group, data = sleep), Student's soporifics.
TEST(Welch, IntervalMatchesStudentsSoporifics) {
  const Sample first = {0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0};
  const Sample second = {1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4};
  const auto test = welch_test(first, second);
  EXPECT_NEAR(test->t, -1.8608, 5e-5);
  EXPECT_NEAR(test->degrees_of_freedom, 17.776, 5e-4);
  EXPECT_NEAR(test->p, 0.07939, 5e-6);
  EXPECT_NEAR(test->low, -3.3654832, 5e-8);
  EXPECT_NEAR(test->high, 0.2054832, 5e-8);
}

TEST(Welch, NeedsAnEstimateOfTheNoise) {
  EXPECT_FALSE(welch_test(Sample{1}, Sample{1, 2, 3}));
  EXPECT_FALSE(welch_test(Sample{5, 5, 5}, Sample{5, 5, 5}));
  EXPECT_FALSE(welch_test(Sample{0, 0, 0}, Sample{100, 100, 100}));
  // constant up to rounding is constant
  EXPECT_FALSE(welch_test(Sample{0.3, 0.3, 0.3}, Sample{0.1 + 0.2, 0.1 + 0.2, 0.3}));
  // one constant sample is fine: a one-sample t test with n - 1 degrees of freedom
  const auto test = welch_test(Sample{0, 0, 0, 0, 0}, Sample{1, 2, 3});
  EXPECT_NEAR(test->t, -2 * std::sqrt(3.0), 1e-12);
  EXPECT_NEAR(test->degrees_of_freedom, 2, 1e-12);
  // equal means are no evidence at all
  EXPECT_EQ(welch_test(Sample{1, 2, 3}, Sample{0, 2, 4})->p, 1);
}

TEST(Welch, EmptyOrNonFiniteSamplesAreRefused) {
  EXPECT_THROW(welch_test(Sample{}, Sample{1, 2}), Error);
  EXPECT_THROW(welch_test(Sample{1, 2}, Sample{1, std::numeric_limits<double>::infinity()}), Error);
}

TEST(Welch, PValuesUnderTheNullAreUniform) {
  // ten seeds each, spread three times as large in one: 20,000 studies, standard error of a share
  // at most 0.0035
  Random random(1, Stream::user);
  const int studies = 20000;
  int below[3] = {0, 0, 0};
  const double level[] = {0.01, 0.05, 0.5};
  Sample x(10), y(10);
  for (int i = 0; i < studies; ++i) {
    for (double& value : x) value = random.normal();
    for (double& value : y) value = 3 * random.normal();
    const double p = welch_test(x, y)->p;
    for (int k = 0; k < 3; ++k) below[k] += p <= level[k];
  }
  EXPECT_NEAR(below[0] / double(studies), 0.01, 0.003);
  EXPECT_NEAR(below[1] / double(studies), 0.05, 0.006);
  EXPECT_NEAR(below[2] / double(studies), 0.50, 0.012);
}

// Fisher (1935), "The Design of Experiments", chapter 2: the lady tasting tea, 8 cups of which 4
// had milk first.
TEST(Fisher, LadyTastingTea) {
  EXPECT_NEAR(fisher_exact_test(4, 4, 0, 4), 2.0 / 70,
              1e-14);  // all right: 1 in 70, and as much all wrong
  EXPECT_NEAR(fisher_exact_test(3, 4, 1, 4), 34.0 / 70, 1e-14);  // R: p-value = 0.4857
  EXPECT_NEAR(fisher_exact_test(2, 4, 2, 4), 1, 1e-14);
}

// Fisher (1962, 1970), criminal like-sex twins: R's help page of fisher.test, p-value = 0.0005367.
// Wikipedia, "Fisher's exact test", 1 of 12 men and 9 of 12 women study: 0.001346 one-sided,
// 0.002759 two-sided.
TEST(Fisher, TwinsAndStudents) {
  EXPECT_NEAR(fisher_exact_test(2, 17, 10, 13), 0.0005367, 5e-8);
  EXPECT_NEAR(fisher_exact_test(1, 12, 9, 12), 0.002759, 5e-7);
}

TEST(Fisher, AgreesWithEnumerationOfAllTables) {
  const auto choose = [](int n, int k) {
    double out = 1;
    for (int i = 1; i <= k; ++i) out = out * (n - k + i) / i;
    return std::round(out);
  };
  const int runs_x = 7, runs_y = 10;
  for (int a = 0; a <= runs_x; ++a) {
    for (int b = 0; b <= runs_y; ++b) {
      double all = 0, extreme = 0;
      const double observed = choose(runs_x, a) * choose(runs_y, b);
      for (int k = 0; k <= runs_x; ++k) {
        if (a + b - k < 0 || a + b - k > runs_y) continue;
        const double ways = choose(runs_x, k) * choose(runs_y, a + b - k);
        all += ways;
        if (ways <= observed) extreme += ways;
      }
      EXPECT_NEAR(fisher_exact_test(a, runs_x, b, runs_y), extreme / all, 1e-12) << a << " " << b;
    }
  }
}

TEST(Fisher, EdgesAndImpossibleCounts) {
  EXPECT_NEAR(fisher_exact_test(0, 5, 0, 5), 1, 1e-14);  // nobody succeeds
  EXPECT_NEAR(fisher_exact_test(5, 5, 5, 5), 1, 1e-14);
  EXPECT_NEAR(fisher_exact_test(1, 1, 0, 1), 1, 1e-14);
  EXPECT_THROW(fisher_exact_test(6, 5, 0, 5), Error);
  EXPECT_THROW(fisher_exact_test(-1, 5, 0, 5), Error);
  EXPECT_THROW(fisher_exact_test(0, 0, 0, 5), Error);
}

// Wikipedia, "Holm-Bonferroni method": four hypotheses, the first and last rejected at 0.05.
// R: p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm").
TEST(Holm, MatchesThePublishedExamples) {
  const auto four = holm(Sample{0.01, 0.04, 0.03, 0.005});
  const Sample expected_four = {0.03, 0.06, 0.06, 0.02};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(four[i], expected_four[i], 1e-15);
  const auto five = holm(Sample{0.01, 0.02, 0.03, 0.04, 0.05});
  const Sample expected_five = {0.05, 0.08, 0.09, 0.09, 0.09};
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(five[i], expected_five[i], 1e-15);
}

// Holm's own procedure (1979): reject in order of p while p_(k) <= alpha / (m - k + 1), stop at the
// first that is not.
TEST(Holm, AgreesWithTheSequentialProcedure) {
  Random random(2, Stream::user);
  for (int round = 0; round < 200; ++round) {
    Sample p(6);
    for (double& value : p) value = std::pow(random.uniform(), 4);
    const auto adjusted = holm(p);
    Sample ordered = p;
    std::ranges::sort(ordered);
    double largest_rejected = -1;
    for (int k = 0; k < 6 && ordered[k] <= 0.05 / (6 - k); ++k) largest_rejected = ordered[k];
    for (int i = 0; i < 6; ++i) EXPECT_EQ(adjusted[i] <= 0.05, p[i] <= largest_rejected);
  }
}

TEST(Holm, EdgesAndImpossibleValues) {
  EXPECT_TRUE(holm(Sample{}).empty());
  EXPECT_EQ(holm(Sample{0.2}), Sample{0.2});
  EXPECT_EQ(holm(Sample{0.9, 0.9}), (Sample{1, 1}));
  EXPECT_THROW(holm(Sample{1.5}), Error);
  EXPECT_THROW(holm(Sample{std::numeric_limits<double>::quiet_NaN()}), Error);
}

// Cohen (1988), table 2.4.1, and Cohen (1992), "A power primer", table 2: runs per group at alpha
// 0.05 two-sided, power 0.8. Cohen rounds to the nearest (d = 0.2 takes 393.41), here the power is
// reached: one more at most.
TEST(Power, RunsNeededMatchCohensTables) {
  const struct {
    double d;
    int cohen;
  } table[] = {{0.2, 393}, {0.3, 175}, {0.4, 100}, {0.5, 64}, {0.6, 45},
               {0.7, 33},  {0.8, 26},  {1.0, 17},  {1.2, 12}, {1.4, 9}};
  for (const auto& [d, cohen] : table) {
    const int runs = *runs_needed({d, 1, 1});
    EXPECT_GE(runs, cohen);
    EXPECT_LE(runs, cohen + 1);
    EXPECT_GE(welch_power({d, 1, 1}, runs, runs), 0.8);
    EXPECT_LT(welch_power({d, 1, 1}, runs - 1, runs - 1), 0.8);
  }
  EXPECT_EQ(runs_needed({0.5, 1, 1}), 64);
  EXPECT_EQ(runs_needed({0.8, 1, 1}), 26);
  // in units of the score: 250 +- 500 is d = 0.5, whichever is the better
  EXPECT_EQ(runs_needed({-250, 500, 500}), 64);
}

// R's help page of power.t.test: n = 20, delta = 1 has power 0.8689528; power 0.90 needs n
// = 22.02110. R leaves out the rejections on the wrong side, here 2e-7.
TEST(Power, MatchesR) {
  EXPECT_NEAR(welch_power({1, 1, 1}, 20, 20), 0.8689528, 5e-7);
  EXPECT_EQ(runs_needed({1, 1, 1}, 0.9), 23);
}

TEST(Power, AgreesWithSimulationAtUnequalSpread) {
  const Effect effect{2, 1, 3};
  Random random(3, Stream::user);
  const int studies = 20000;
  int rejected = 0;
  Sample x(8), y(14);
  for (int i = 0; i < studies; ++i) {
    for (double& value : x) value = 2 + random.normal();
    for (double& value : y) value = 3 * random.normal();
    rejected += welch_test(x, y)->p <= 0.05;
  }
  EXPECT_NEAR(welch_power(effect, 8, 14), rejected / double(studies), 0.015);
}

// Far from no difference, but with one degree of freedom: against simulated tests of a group that
// does not scatter and one that does.
TEST(Power, LargeDifferencesAreNotCertain) {
  Random random(6, Stream::user);
  for (const double difference : {30.0, 60.0, 200.0}) {
    const Effect effect{difference, 0, std::sqrt(2.0)};
    int rejected = 0;
    const int studies = 20000;
    for (int i = 0; i < studies; ++i) {
      std::vector<double> y;
      for (int j = 0; j < 2; ++j) y.push_back(difference + std::sqrt(2.0) * random.normal());
      // Welch's statistic with 1 degree of freedom, whose quantile at 0.995 is 63.657
      const double mean = (y[0] + y[1]) / 2, error = std::abs(y[0] - y[1]) / 2;
      rejected += std::abs(mean) / error > 63.657;
    }
    EXPECT_NEAR(welch_power(effect, 2, 2, 0.01), rejected / double(studies), 0.015) << difference;
  }
  // nothing jumps where the way of computing changes
  const auto power = [](double shift) {
    return welch_power({shift, 0, std::sqrt(2.0)}, 2, 2, 0.0006);
  };
  EXPECT_NEAR(power(1000.001), power(999.999), 1e-5);
}

TEST(Power, Edges) {
  EXPECT_EQ(runs_needed({1, 0, 0}), 2);                // nothing scatters
  EXPECT_EQ(runs_needed({1e-6, 1, 1}), std::nullopt);  // 16 million million would do
  EXPECT_EQ(welch_power({100, 1, 1}, 10, 10), 1);
  EXPECT_THROW(runs_needed({0, 1, 1}), Error);
  EXPECT_THROW(runs_needed({1, -1, 1}), Error);
  EXPECT_THROW(runs_needed({1, 1, 1}, 1.0), Error);
  EXPECT_THROW(welch_power({1, 1, 1}, 1, 5), Error);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
