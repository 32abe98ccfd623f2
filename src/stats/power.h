// Power of Welch's test, and the number of runs that reaches a given power.
#pragma once

#include <optional>

namespace ovde {

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

}  // namespace ovde
