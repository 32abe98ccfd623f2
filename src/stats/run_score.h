// The number that a run is reduced to.
#pragma once

#include <span>

namespace ovde {

// Number of last epochs that make the score: 8 % of the run, rounded up (so at least one), and at
// most 100.
int score_epochs(int epochs);

// Mean of the evaluation returns over those epochs. Throws Error on an empty run or a value among
// them that is not finite.
double run_score(std::span<const double> evaluation_returns);

}  // namespace ovde
