// The two uncertainties of a pair of quantile critics (appendix "The formulation of
// uncertainties").
#pragma once

namespace ovde {

// Their forms; the defaults are the paper's formulas.
enum class EpistemicForm { quantiles, means };  // quantile by quantile, or |Q_1 - Q_2| / 2
enum class VarianceForm { biased, unbiased };   // aleatoric: divided by N, or by N - 1
struct UncertaintyForm {
  EpistemicForm epistemic = EpistemicForm::quantiles;
  VarianceForm variance = VarianceForm::biased;
  bool operator==(const UncertaintyForm&) const = default;
};

// Means and variances over the quantiles are weighted.
struct Uncertainty {
  double mean;       // over quantiles and critics (Eq. 12)
  double epistemic;  // sqrt(mean_i ((z_1i - z_2i) / 2)^2): disagreement of the two critics
  double aleatoric;  // sqrt(var_i((z_1i + z_2i) / 2)): spread of the return itself
  // Q_1 - Q_2, each the mean of its critic's quantiles; set for EpistemicForm::means only
  double difference = 0;
};

}  // namespace ovde
