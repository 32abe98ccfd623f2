#include "agent/critic/quantile_loss.h"

#include "agent/equations.h"

namespace ovde {

std::vector<float> midpoints(int quantiles) {
  std::vector<float> fractions(quantiles);
  for (int i = 0; i < quantiles; ++i)
    fractions[i] = (static_cast<float>(i) + 0.5f) / static_cast<float>(quantiles);
  return fractions;
}

namespace {

// fraction(b, v, j) belongs to prediction j, target_weight(b, v, i) to target i, for vector v in
// block b.
template <typename Fraction, typename TargetWeight>
double quantile_huber_sum(const Batch& targets, TargetWeight&& target_weight,
                          const Batch& quantiles, Fraction&& fraction, const Batch& weight,
                          Batch& gradient, Blocks blocks) {
  const int n = quantiles.features(), aims = targets.features();
  double total = 0;
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int v = 0; v < kVectorsPerBlock; ++v) {
      const Vector scale = load(weight.row(b, 0) + v * kVector) * (1.0f / static_cast<float>(aims));
      Vector loss{};
      for (int j = 0; j < n; ++j) {
        const Vector z = load(quantiles.row(b, j) + v * kVector);
        const Vector above = fraction(b, v, j), below = 1.0f - above;
        Vector slope{}, value{};
        for (int i = 0; i < aims; ++i) {
          const Vector u = load(targets.row(b, i) + v * kVector) - z;
          const auto term = quantile_huber(u, above, below, target_weight(b, v, i));
          slope += term.slope;
          value += term.value;
        }
        loss += value;
        store(gradient.row(b, j) + v * kVector, -(scale * slope));
      }
      total += sum_lanes(loss * scale);
    }
  }
  return total;
}

}  // namespace

double quantile_huber_loss(const Batch& targets, const Batch& quantiles,
                           const std::vector<float>& fractions, const Batch& weight,
                           Batch& gradient, Blocks blocks) {
  return quantile_huber_sum(
      targets, [](int, int, int) { return 1.0f; }, quantiles,
      [&](int, int, int j) { return splat(fractions[j]); }, weight, gradient, blocks);
}

double quantile_huber_loss(const Batch& targets, const Batch& target_weights,
                           const Batch& quantiles, const Batch& fractions, const Batch& weight,
                           Batch& gradient, Blocks blocks) {
  return quantile_huber_sum(
      targets, [&](int b, int v, int i) { return load(target_weights.row(b, i) + v * kVector); },
      quantiles, [&](int b, int v, int j) { return load(fractions.row(b, j) + v * kVector); },
      weight, gradient, blocks);
}

double squared_loss(const Batch& targets, const Batch& values, const Batch& weight, Batch& gradient,
                    Blocks blocks) {
  double total = 0;
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int v = 0; v < kVectorsPerBlock; ++v) {
      const Vector error =
          load(values.row(b, 0) + v * kVector) - load(targets.row(b, 0) + v * kVector);
      const Vector weighted = error * load(weight.row(b, 0) + v * kVector);
      store(gradient.row(b, 0) + v * kVector, 2.0f * weighted);
      total += sum_lanes(weighted * error);
    }
  }
  return total;
}

}  // namespace ovde
