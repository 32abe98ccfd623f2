// All rows together: scores that were brought to one scale (Agarwal et al. 2021).
#pragma once

#include <map>
#include <string>

#include "stats/bootstrap.h"
#include "study/analyse/results.h"

namespace ovde {

// Each row's scores on one scale, by column: 0 the lowest of any run, 1 the highest. Rows without
// runs are left out.
std::map<std::string, Strata> normalised_scores(const StudyResults& results);

}  // namespace ovde
