// The two numbers a run is reduced to: its score and the first epoch at which it reaches the goal
// (FRG).
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace ovde {

// Number of last epochs that make the score: 8 % of the run, rounded up (so at least one), and at
// most 100.
int score_epochs(int epochs);

// Mean of the evaluation returns over those epochs. Throws Error on an empty run or a value among
// them that is not finite.
double run_score(std::span<const double> evaluation_returns);

// First epoch, counted from 0 as in progress.csv, at which the goal was reached; nullopt: never.
std::optional<int> first_reached_goal(const std::vector<bool>& reached);

// The same by a threshold on the evaluation return, for tasks without a goal of their own.
std::optional<int> first_reached_goal(std::span<const double> evaluation_returns, double threshold);

}  // namespace ovde
