// A distribution of the return over n equally spaced values (Bellemare et al., 2017): its softmax,
// its mean, its quantiles, and the projection of a moved distribution onto the same values.
#pragma once

#include <span>

#include "agent/equations.h"
#include "agent/options.h"
#include "nn/batch.h"

namespace ovde {

// The values: low, low + step, ..., high.
struct Support {
  explicit Support(const CriticOptions& options)
      : low(options.low),
        step((options.high - options.low) / static_cast<float>(options.atoms - 1)),
        size(options.atoms) {}
  OVDE_BOTH float value(int j) const { return low + step * static_cast<float>(j); }

  float low, step;
  int size;  // n
};

// Adds a probability at y to the two nearest values, so that the mean stays y; y beyond the ends
// counts as the end. add(j, probability) receives the parts. A NaN makes one of the parts a NaN.
template <typename Add>
OVDE_BOTH inline void project(const Support& support, float y, float probability, Add&& add) {
  const auto last = static_cast<float>(support.size - 1);
  const float place = (y - support.low) / support.step;
  const float inside = place < 0 ? 0 : place > last ? last : place;
  const int below = inside < last ? static_cast<int>(inside) : support.size - 2;
  const float share = inside - static_cast<float>(below);
  add(below, probability * (1 - share));
  add(below + 1, probability * share);
}

// ---- batches: probabilities and logits are (n x batch)

void softmax(const Batch& logits, Batch& probabilities, Blocks blocks);

// sum_j p_j z_j (1 x batch).
void distribution_mean(const Support& support, const Batch& probabilities, Batch& mean,
                       Blocks blocks);

// The sum over samples of weight * -sum_j target_j log p_j, and its gradient by the logits.
double cross_entropy(const Batch& targets, const Batch& logits, const Batch& probabilities,
                     const Batch& weight, Batch& gradient, Blocks blocks);

// ---- quantiles: N values of equal weight

// The mean of each N-th part of a distribution: the values between the fractions (i - 1) / N and
// i / N. Their mean is that of the distribution. All are NaN where a probability is.
void quantiles_of(const Support& support, std::span<const double> probabilities,
                  std::span<double> quantiles);

// From the gradient by the quantiles to that by the logits, of which `probabilities` are the
// softmax. by_logit and probabilities have n numbers.
void quantile_gradient(const Support& support, std::span<const double> probabilities,
                       std::span<const double> by_quantile, std::span<double> by_logit);

}  // namespace ovde
