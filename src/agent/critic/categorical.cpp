#include "agent/critic/categorical.h"

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

}  // namespace ovde
