// Tests of significance: Welch's t test for means, Fisher's exact test for success counts, Holm's
// correction for multiple tests. Rank tests are in rank_tests.h. All p-values are two-sided.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace ovde {

// A sample as a paper prints it: mean and deviation of n runs.
struct Moments {
  int count;
  double mean;
  double deviation;  // sample standard deviation
};

Moments moments(std::span<const double> values);

struct WelchTest {
  double difference;  // mean of x minus mean of y
  double low, high;   // its confidence interval
  double t;
  double degrees_of_freedom;  // Welch-Satterthwaite
  double p;
};

// Welch's unequal-variance t test. nullopt where there is no estimate of the noise: a sample of one
// value, or two constant samples (for which the rank test can be used).
std::optional<WelchTest> welch_test(std::span<const double> x, std::span<const double> y,
                                    double confidence = 0.95);
std::optional<WelchTest> welch_test(const Moments& x, const Moments& y, double confidence = 0.95);

// Fisher's exact test of `successes` out of `runs` in two groups: the probability, given the
// margins, of a table no more likely than the one observed.
double fisher_exact_test(int successes_x, int runs_x, int successes_y, int runs_y);

// Holm's step-down adjusted p-values, in the order given. Rejecting where they are at most alpha
// keeps the chance of even one false rejection in the family below alpha, whatever the dependence
// between the tests.
std::vector<double> holm(std::span<const double> p);

}  // namespace ovde
