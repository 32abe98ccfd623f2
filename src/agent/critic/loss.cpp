#include "agent/critic/loss.h"

#include <Eigen/Core>

namespace ovde {

// ---- quantiles

std::vector<float> midpoints(int quantiles) {
  std::vector<float> fractions(quantiles);
  for (int i = 0; i < quantiles; ++i)
    fractions[i] = (static_cast<float>(i) + 0.5f) / static_cast<float>(quantiles);
  return fractions;
}

namespace {

// fraction(b, v, j) belongs to prediction j, target_weight(b, v, i) to target i, for the vector of
// samples at v in block b.
template <typename Fraction, typename TargetWeight>
double quantile_huber_sum(const Batch& targets, TargetWeight&& target_weight,
                          const Batch& quantiles, Fraction&& fraction, const Batch& weight,
                          Batch& gradient, Blocks blocks) {
  const int n = quantiles.features(), aims = targets.features();
  double total = 0;
  over_samples(blocks, [&](int b, int v) {
    const Vector scale = load(weight.row(b, 0) + v) * (1.0f / static_cast<float>(aims));
    Vector loss{};
    for (int j = 0; j < n; ++j) {
      const Vector z = load(quantiles.row(b, j) + v);
      const Vector above = fraction(b, v, j), below = 1.0f - above;
      Vector slope{}, value{};
      for (int i = 0; i < aims; ++i) {
        const Vector u = load(targets.row(b, i) + v) - z;
        const auto term = quantile_huber(u, above, below, target_weight(b, v, i));
        slope += term.slope;
        value += term.value;
      }
      loss += value;
      store(gradient.row(b, j) + v, -(scale * slope));
    }
    total += sum_lanes(loss * scale);
  });
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
      targets, [&](int b, int v, int i) { return load(target_weights.row(b, i) + v); }, quantiles,
      [&](int b, int v, int j) { return load(fractions.row(b, j) + v); }, weight, gradient, blocks);
}

double squared_loss(const Batch& targets, const Batch& values, const Batch& weight, Batch& gradient,
                    Blocks blocks) {
  double total = 0;
  over_samples(blocks, [&](int b, int v) {
    const Vector error = load(values.row(b, 0) + v) - load(targets.row(b, 0) + v);
    const Vector weighted = error * load(weight.row(b, 0) + v);
    store(gradient.row(b, 0) + v, 2.0f * weighted);
    total += sum_lanes(weighted * error);
  });
  return total;
}

// ---- distributions over equally spaced values

namespace {

// A row of a block.
using Values = Eigen::Array<float, kLanes, 1>;
using ValuesMap = Eigen::Map<Values, Eigen::Aligned64>;
using ConstValuesMap = Eigen::Map<const Values, Eigen::Aligned64>;

// log(sum_j exp(logit_j)) of each sample of a block.
Values log_sum(const Batch& logits, int b) {
  Values largest = ConstValuesMap(logits.row(b, 0)), sum = Values::Zero();
  for (int j = 1; j < logits.features(); ++j)
    largest = largest.max(ConstValuesMap(logits.row(b, j)));
  for (int j = 0; j < logits.features(); ++j)
    sum += (ConstValuesMap(logits.row(b, j)) - largest).exp();
  return largest + sum.log();
}

}  // namespace

void softmax(const Batch& logits, Batch& probabilities, Blocks blocks) {
  for (int b = blocks.first; b < blocks.last; ++b) {
    const Values sum = log_sum(logits, b);
    for (int j = 0; j < logits.features(); ++j)
      ValuesMap(probabilities.row(b, j)) = (ConstValuesMap(logits.row(b, j)) - sum).exp();
  }
}

void distribution_mean(const Support& support, const Batch& probabilities, Batch& mean,
                       Blocks blocks) {
  for (int b = blocks.first; b < blocks.last; ++b) {
    Values sum = Values::Zero();
    for (int j = 0; j < support.size; ++j)
      sum += support.value(j) * ConstValuesMap(probabilities.row(b, j));
    ValuesMap(mean.row(b, 0)) = sum;
  }
}

double cross_entropy(const Batch& targets, const Batch& logits, const Batch& probabilities,
                     const Batch& weight, Batch& gradient, Blocks blocks) {
  double total = 0;
  for (int b = blocks.first; b < blocks.last; ++b) {
    const ConstValuesMap w(weight.row(b, 0));
    const Values sum = log_sum(logits, b);
    Values loss = Values::Zero();
    for (int j = 0; j < logits.features(); ++j) {
      const ConstValuesMap target(targets.row(b, j));
      loss += target * (sum - ConstValuesMap(logits.row(b, j)));
      ValuesMap(gradient.row(b, j)) = w * (ConstValuesMap(probabilities.row(b, j)) - target);
    }
    total += (w * loss).sum();
  }
  return total;
}

}  // namespace ovde
