// A distribution of the return over n equally spaced values (Bellemare et al., 2017), for host and
// device: the projection of a moved distribution onto the same values, and its quantiles.
#pragma once

#include <cmath>
#include <span>

#include "agent/options.h"

namespace ovde {

// The values: low, low + step, ..., high.
struct Support {
  OVDE_BOTH explicit Support(const CriticOptions& options)
      : Support(options.low, options.high, options.atoms) {}
  OVDE_BOTH Support(float low, float high, int atoms)
      : low(low), step((high - low) / static_cast<float>(atoms - 1)), size(atoms) {}
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

// The softmax of n logits.
template <typename T>
OVDE_BOTH inline void softmax(const T* logits, int n, double* probabilities) {
  double largest = logits[0], sum = 0;
  for (int j = 1; j < n; ++j) largest = logits[j] > largest ? double{logits[j]} : largest;
  for (int j = 0; j < n; ++j) sum += probabilities[j] = std::exp(double{logits[j]} - largest);
  for (int j = 0; j < n; ++j) probabilities[j] /= sum;
}

// ---- quantiles: N values of equal weight

// The mean of each N-th part of a distribution: the values between the fractions (i - 1) / N and
// i / N. Their mean is that of the distribution. All are NaN where a probability is.
OVDE_BOTH inline void quantiles_of(const Support& support, const double* probabilities, int count,
                                   double* quantiles) {
  double total = 0;
  for (int j = 0; j < support.size; ++j) total += probabilities[j];
  const double not_finite = total - total;  // 0, or NaN
  const int last = support.size - 1;
  int j = 0;
  double from = 0, cdf = probabilities[0];
  for (int i = 0; i < count; ++i) {
    const double end = static_cast<double>(i + 1) / count;
    double sum = 0;
    for (; j < last && cdf < end; cdf += probabilities[++j]) {
      sum += support.value(j) * (cdf - from);
      from = cdf;
    }
    sum += support.value(j) * (end - from);
    from = end;
    quantiles[i] = not_finite == 0 ? count * sum : not_finite;
  }
}
inline void quantiles_of(const Support& support, std::span<const double> probabilities,
                         std::span<double> quantiles) {
  quantiles_of(support, probabilities.data(), static_cast<int>(quantiles.size()), quantiles.data());
}

// Turns the gradient by the quantiles into that by the logits. `probabilities` is the softmax of
// the logits; it has n numbers, as by_logit. Quantile i moves with the CDF after value j, where
// that lies between its fractions, by N (z_j - z_(j+1)).
template <typename T, typename L>
OVDE_BOTH inline void quantile_gradient(const Support& support, const double* probabilities,
                                        const T* by_quantile, int count, L* by_logit) {
  const int last = support.size - 1;
  double cdf = 0;
  for (int j = 0; j < last; ++j) {
    cdf += probabilities[j];
    const int i = static_cast<int>(count * cdf);
    const int inside = i >= 0 && i < count ? i : count - 1;
    by_logit[j] = static_cast<L>(-count * double{support.step} * by_quantile[inside]);
  }
  // by the probabilities: each moves the CDF from its value on
  by_logit[last] = 0;
  double mean = 0;
  for (int j = last - 1; j >= 0; --j) by_logit[j] += by_logit[j + 1];
  for (int j = 0; j <= last; ++j) mean += probabilities[j] * by_logit[j];
  for (int j = 0; j <= last; ++j)
    by_logit[j] = static_cast<L>(probabilities[j] * (by_logit[j] - mean));
}
inline void quantile_gradient(const Support& support, std::span<const double> probabilities,
                              std::span<const double> by_quantile, std::span<double> by_logit) {
  quantile_gradient(support, probabilities.data(), by_quantile.data(),
                    static_cast<int>(by_quantile.size()), by_logit.data());
}

}  // namespace ovde
