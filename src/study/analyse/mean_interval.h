// The interval that reports put around a mean over runs.
#pragma once

#include <vector>

#include "stats/bootstrap.h"
#include "stats/statistics.h"

namespace ovde {

// 95 %, by bootstrap. `values` must not be empty.
inline Interval mean_interval(const std::vector<double>& values) {
  return bootstrap_interval({values}, [](const Strata& strata) { return mean(strata[0]); },
                            {.resamples = 2000});
}

}  // namespace ovde
