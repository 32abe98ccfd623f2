#include "agent/critic/categorical.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <Eigen/Core>

namespace ovde {

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

void quantiles_of(const Support& support, std::span<const double> probabilities,
                  std::span<double> quantiles) {
  if (!std::isfinite(std::accumulate(probabilities.begin(), probabilities.end(), 0.0)))
    return std::fill(quantiles.begin(), quantiles.end(), std::numeric_limits<double>::quiet_NaN());
  const auto n = static_cast<double>(quantiles.size());
  const auto last = static_cast<std::size_t>(support.size - 1);
  std::size_t j = 0;
  double from = 0, cdf = probabilities[0];
  for (std::size_t i = 0; i < quantiles.size(); ++i) {
    const double end = static_cast<double>(i + 1) / n;
    double sum = 0;
    for (; j < last && cdf < end; cdf += probabilities[++j]) {
      sum += support.value(static_cast<int>(j)) * (cdf - from);
      from = cdf;
    }
    sum += support.value(static_cast<int>(j)) * (end - from);
    from = end;
    quantiles[i] = n * sum;
  }
}

// Quantile i moves with the CDF after value j, where that lies between its fractions, by
// N (z_j - z_(j+1)).
void quantile_gradient(const Support& support, std::span<const double> probabilities,
                       std::span<const double> by_quantile, std::span<double> by_logit) {
  const auto n = static_cast<double>(by_quantile.size());
  const std::size_t last = probabilities.size() - 1;
  double cdf = 0;
  for (std::size_t j = 0; j < last; ++j) {
    cdf += probabilities[j];
    const auto i = std::min(static_cast<std::size_t>(n * cdf), by_quantile.size() - 1);
    by_logit[j] = -n * double{support.step} * by_quantile[i];
  }
  // by the probabilities: each moves the CDF from its value on
  by_logit[last] = 0;
  double mean = 0;
  for (std::size_t j = last; j-- > 0;) by_logit[j] += by_logit[j + 1];
  for (std::size_t j = 0; j <= last; ++j) mean += probabilities[j] * by_logit[j];
  for (std::size_t j = 0; j <= last; ++j) by_logit[j] = probabilities[j] * (by_logit[j] - mean);
}

}  // namespace ovde
