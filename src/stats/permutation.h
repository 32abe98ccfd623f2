// Does one algorithm tend to score higher than another over many tasks? A permutation test of the
// ranks within each task, the tasks being strata: labels are exchanged among the runs of a task,
// never between tasks.
#pragma once

#include <cstdint>

#include "stats/bootstrap.h"

namespace ovde {

struct PermutationOptions {
  std::uint64_t seed = 0;  // equal seeds give equal p-values (Stream::bootstrap)
  int permutations = 100'000;
};

struct StratifiedRankTest {
  double superiority;  // mean over the tasks of P(x > y) + P(x = y) / 2
  double p;            // two-sided; at least 1 / (permutations + 1)
};

// x[t] and y[t]: the scores of the two on task t, none empty.
StratifiedRankTest stratified_rank_test(const Strata& x, const Strata& y,
                                        const PermutationOptions& options = {});

}  // namespace ovde
