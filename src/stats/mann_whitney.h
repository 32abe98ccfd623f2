// The Mann-Whitney U test (Wilcoxon's rank sum test): does one algorithm tend to score higher than
// another? Uses only the order of the scores, so no assumption about their distribution, and
// outliers do no harm.
#pragma once

#include <span>

namespace ovde {

enum class MannWhitneyMethod {
  automatic,  // exact up to kExactRuns values in all, normal above
  exact,      // the permutation distribution of the (mid)ranks at hand, ties included; up to some
              // hundreds
  normal,     // normal approximation with tie and continuity correction
};

inline constexpr int kExactRuns = 60;

struct MannWhitneyTest {
  double u;  // pairs in which x is above y, ties counting half: 0 .. n * m
  double p;  // two-sided: how likely is a U at least as far from n * m / 2, either way
  bool exact;
};

MannWhitneyTest mann_whitney_test(std::span<const double> x, std::span<const double> y,
                                  MannWhitneyMethod method = MannWhitneyMethod::automatic);

}  // namespace ovde
