// Rank tests: does one algorithm tend to score higher than another? They use only the order of the
// scores, so they assume nothing about their distribution, and outliers do no harm.
#pragma once

#include <cstdint>
#include <span>

#include "stats/bootstrap.h"

namespace ovde {

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

struct PermutationOptions {
  std::uint64_t seed = 0;  // equal seeds give equal p-values (Stream::bootstrap)
  int permutations = 100'000;
};

struct StratifiedRankTest {
  double superiority;  // mean over the tasks of P(x > y) + P(x = y) / 2
  double p;            // two-sided; at least 1 / (permutations + 1)
};

// A permutation test of the ranks over many tasks: labels are exchanged among the runs of a task,
// never between tasks. x[t] and y[t] are the scores of the two on task t; none may be empty.
StratifiedRankTest stratified_rank_test(const Strata& x, const Strata& y,
                                        const PermutationOptions& options = {});

}  // namespace ovde
