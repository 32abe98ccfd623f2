// Tests of significance: Welch's t test for means with its power, Fisher's exact test for success
// counts, rank tests, and Holm's correction for multiple tests. All p-values are two-sided.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "stats/bootstrap.h"

namespace ovde {

struct WelchTest {
  double difference;  // mean of x minus mean of y
  double low, high;   // its confidence interval
  double t;
  double degrees_of_freedom;  // Welch-Satterthwaite
  double p;
};

// Welch's unequal-variance t test, with a 95 % confidence interval. nullopt where there is no
// estimate of the noise: a sample of one value, or two constant samples (for which the rank test
// can be used).
std::optional<WelchTest> welch_test(std::span<const double> x, std::span<const double> y);

// Fisher's exact test of `successes` out of `runs` in two groups: the probability, given the
// margins, of a table no more likely than the one observed.
double fisher_exact_test(int successes_x, int runs_x, int successes_y, int runs_y);

// Holm's step-down adjusted p-values, in the order given. Rejecting where they are at most alpha
// keeps the chance of even one false rejection in the family below alpha, whatever the dependence
// between the tests.
std::vector<double> holm(std::span<const double> p);

// ---- power of Welch's test

// A difference of means, and the standard deviations of the runs of both algorithms.
struct Effect {
  double difference;
  double deviation_x, deviation_y;
};

// Chance that a two-sided Welch test at level `alpha` of n_x against n_y normal runs rejects
// (noncentral t distribution; degrees of freedom by Welch-Satterthwaite at the true deviations).
double welch_power(const Effect& effect, int n_x, int n_y, double alpha = 0.05);

// Smallest number of runs for each algorithm (the same for both, at least 2) at which the test has
// this power. nullopt: more than a million.
std::optional<int> runs_needed(const Effect& effect, double power = 0.8, double alpha = 0.05);

// ---- rank tests: does one algorithm tend to score higher than another? They use only the order of
// the scores, so they assume nothing about their distribution, and outliers do no harm.

enum class MannWhitneyMethod {
  automatic,  // exact up to kExactRuns values in all, normal above
  exact,   // the permutation distribution of the midranks, ties included; for some hundred values
  normal,  // normal approximation with tie and continuity correction
};

inline constexpr int kExactRuns = 60;

struct MannWhitneyTest {
  double u;  // pairs in which x is above y, ties counting half: 0 .. n * m
  double p;  // two-sided
  bool exact;
};

// The Mann-Whitney U test (Wilcoxon's rank sum test) on one task.
MannWhitneyTest mann_whitney_test(std::span<const double> x, std::span<const double> y,
                                  MannWhitneyMethod method = MannWhitneyMethod::automatic);

struct StratifiedRankTest {
  double superiority;  // mean over the tasks of P(x > y) + P(x = y) / 2
  double p;            // two-sided; at least 1 / 100,001
};

// A permutation test of the ranks over many tasks, with 100,000 random permutations, the same in
// every call: labels are exchanged among the runs of a task, never between tasks. x[t] and y[t] are
// the scores of the two on task t; none may be empty. `same_runs`: x[t][i] is the same run for all
// t, so that its labels are exchanged together.
StratifiedRankTest stratified_rank_test(const Strata& x, const Strata& y, bool same_runs = false);

}  // namespace ovde
