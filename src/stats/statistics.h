// Descriptive statistics of one sample: what a table cell shows. Intervals are in bootstrap.h,
// tests in significance.h and mann_whitney.h. Every function throws Error on an empty sample or a
// value that is not finite.
#pragma once

#include <span>
#include <string_view>

namespace ovde {

double mean(std::span<const double> values);

// Sample standard deviation (divisor n - 1); 0 for a single value, which says nothing about the
// spread.
double standard_deviation(std::span<const double> values);

// The value below which a share `q` in [0, 1] of the sample lies, interpolated linearly between
// order statistics (Hyndman and Fan's type 7, the default of R and NumPy).
double quantile(std::span<const double> values, double q);

double median(std::span<const double> values);

// Mean of what is left after floor(n / 4) values are cut off at either end (Agarwal et al. 2021, as
// rliable does it).
double interquartile_mean(std::span<const double> values);

// The number that a run is reduced to: the mean of its evaluation returns over the last epochs, 8 %
// of the run, rounded up (so at least one), and at most 100. NaN: an epoch that was not evaluated,
// which is left out; one of those at least must have been.
int score_epochs(int epochs);
double run_score(std::span<const double> evaluation_returns);

// Throws Error, naming `what`, unless `values` has at least one value and all are finite.
void check_sample(std::span<const double> values, std::string_view what);

}  // namespace ovde
