// Descriptive statistics of one sample. Intervals are in bootstrap.h, tests in significance.h.
// Every function throws Error on an empty sample or a value that is not finite.
#pragma once

#include <span>
#include <string_view>

namespace ovde {

double mean(std::span<const double> values);

// Sample standard deviation (divisor n - 1); 0 for a single value.
double standard_deviation(std::span<const double> values);

// The value below which a share `q` in [0, 1] of the sample lies, interpolated linearly between
// order statistics (Hyndman and Fan's type 7, the default of R and NumPy).
double quantile(std::span<const double> values, double q);

double median(std::span<const double> values);

// Mean without the floor(n / 4) smallest and largest values (Agarwal et al. 2021, as in rliable).
double interquartile_mean(std::span<const double> values);

// A run's score: its mean evaluation return over the last score_epochs(), which are 8 % of the run,
// rounded up, and at most 100. Epochs that were not evaluated (NaN) are left out; at least one of
// the last epochs must have been evaluated.
int score_epochs(int epochs);
double run_score(std::span<const double> evaluation_returns);

// The returns up to the last epoch that was evaluated: the last epochs of a run that has not
// finished may not be.
std::span<const double> evaluated_part(std::span<const double> evaluation_returns);

// Throws Error, naming `what`, unless `values` has at least one value and all are finite.
void check_sample(std::span<const double> values, std::string_view what);

}  // namespace ovde
