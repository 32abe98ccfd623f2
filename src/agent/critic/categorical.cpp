#include "agent/critic/categorical.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <Eigen/Core>

namespace ovde {

namespace {

// A row of a block.
using Lanes = Eigen::Array<float, kLanes, 1>;
using LanesMap = Eigen::Map<Lanes, Eigen::Aligned64>;
using ConstLanesMap = Eigen::Map<const Lanes, Eigen::Aligned64>;

// log(sum_j exp(logit_j)) of each sample of a block.
Lanes log_sum(const Batch& logits, int b) {
  Lanes largest = ConstLanesMap(logits.row(b, 0)), sum = Lanes::Zero();
  for (int j = 1; j < logits.features(); ++j)
    largest = largest.max(ConstLanesMap(logits.row(b, j)));
  for (int j = 0; j < logits.features(); ++j)
    sum += (ConstLanesMap(logits.row(b, j)) - largest).exp();
  return largest + sum.log();
}

}  // namespace

void softmax(const Batch& logits, Batch& probabilities, Blocks blocks) {
  for (int b = blocks.first; b < blocks.last; ++b) {
    const Lanes sum = log_sum(logits, b);
    for (int j = 0; j < logits.features(); ++j)
      LanesMap(probabilities.row(b, j)) = (ConstLanesMap(logits.row(b, j)) - sum).exp();
  }
}

void distribution_mean(const Support& support, const Batch& probabilities, Batch& mean,
                       Blocks blocks) {
  for (int b = blocks.first; b < blocks.last; ++b) {
    Lanes sum = Lanes::Zero();
    for (int j = 0; j < support.size; ++j)
      sum += support.value(j) * ConstLanesMap(probabilities.row(b, j));
    LanesMap(mean.row(b, 0)) = sum;
  }
}

double cross_entropy(const Batch& targets, const Batch& logits, const Batch& probabilities,
                     const Batch& weight, Batch& gradient, Blocks blocks) {
  double total = 0;
  for (int b = blocks.first; b < blocks.last; ++b) {
    const ConstLanesMap w(weight.row(b, 0));
    const Lanes sum = log_sum(logits, b);
    Lanes loss = Lanes::Zero();
    for (int j = 0; j < logits.features(); ++j) {
      const ConstLanesMap target(targets.row(b, j));
      loss += target * (sum - ConstLanesMap(logits.row(b, j)));
      LanesMap(gradient.row(b, j)) = w * (ConstLanesMap(probabilities.row(b, j)) - target);
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
