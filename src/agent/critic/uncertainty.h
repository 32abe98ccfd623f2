// The two uncertainties of a pair of quantile critics at one (s, a), and their derivatives with
// respect to the quantiles (appendix "The formulation of uncertainties").
#pragma once

#include <span>
#include <vector>

namespace ovde {

// Smallest values the uncertainties are taken for where they divide.
inline constexpr double kEpistemicFloor = 1e-8;
inline constexpr double kAleatoricFloor = 1e-6;

// One number for each quantile of each critic: the quantiles themselves, or a gradient with respect
// to them.
struct QuantilePair {
  QuantilePair() = default;
  explicit QuantilePair(int quantiles)
      : critic{std::vector<double>(quantiles), std::vector<double>(quantiles)},
        weight(quantiles, 1.0) {}
  int size() const { return static_cast<int>(critic[0].size()); }
  std::vector<double> critic[2];
  std::vector<double> weight;  // of quantiles: what each counts in a mean over them, N in all
};

// Means and variances over the quantiles count each by its weight.
struct Uncertainty {
  double mean;       // over quantiles and critics (Eq. 12)
  double epistemic;  // sqrt(mean_i ((z_1i - z_2i) / 2)^2): disagreement of the two critics
  double aleatoric;  // sqrt(var_i((z_1i + z_2i) / 2)): spread of the return itself
};

Uncertainty uncertainty(const QuantilePair& z);

// Q_1 - Q_2: each the mean of its critic's quantiles.
double mean_difference(const QuantilePair& z);

// out = by_mean * d mean/dz + by_epistemic * d epistemic/dz + by_aleatoric * d aleatoric/dz. Where
// an uncertainty is zero, so is its derivative.
void uncertainty_gradient(const QuantilePair& z, const Uncertainty& u, double by_mean,
                          double by_epistemic, double by_aleatoric, QuantilePair& out);

}  // namespace ovde
