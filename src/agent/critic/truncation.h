// The truncated mixture of truncated quantile critics (TQC; Kuznetsov et al., 2020): of the values
// of all critics together the largest are left out, against overestimation.
#pragma once

#include <vector>

#include "nn/batch.h"

namespace ovde {

// How many are left of two critics' n values each.
inline int kept_values(int n, int dropped) { return 2 * (n - dropped); }
// How many targets a sample has: these where some are left out, otherwise one for each value.
inline int target_count(int n, int dropped) { return dropped > 0 ? kept_values(n, dropped) : n; }

// The smallest of both critics' values (N x batch) at each sample, as many as `kept` (K x batch)
// has room for, in no particular order. Where one is not a number, none is. `all` has room for 2 N.
void keep_smallest(const Batch& first, const Batch& second, std::vector<float>& all, Batch& kept,
                   Blocks blocks);

}  // namespace ovde
