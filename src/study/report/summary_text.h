// The answer of a study in a few lines, as a console shows it.
#pragma once

#include <string>
#include <vector>

#include "study/analyse/comparison.h"

namespace ovde {

// Of one measure: all rows together, and row by row each comparison, or what came of them where
// they are many.
std::string comparisons_text(const std::vector<Comparison>& by_row,
                             const std::vector<Comparison>& together);

}  // namespace ovde
