// The losses of the critics on batches, with their gradients: quantile regression with Huber's
// kappa = 1 (Eq. 2 and 4), the squared error for one value, and the cross-entropy of categorical
// critics.
#pragma once

#include <vector>

#include "agent/critic/support.h"
#include "nn/batch.h"

namespace ovde {

// ---- quantiles

std::vector<float> midpoints(int quantiles);  // (i - 0.5) / N

// Sum over samples of weight * (1/N) sum_i sum_j |tau_j - 1{y_i - z_j < 0}| * huber(y_i - z_j), tau
// belonging to the prediction z_j. Writes its gradient with respect to z (N x batch) and returns
// its value.
double quantile_huber_loss(const Batch& targets, const Batch& quantiles,
                           const std::vector<float>& fractions, const Batch& weight,
                           Batch& gradient, Blocks blocks);

// The same with fractions for each sample (N x batch) and weights of the targets (N x batch), which
// add up to N.
double quantile_huber_loss(const Batch& targets, const Batch& target_weights,
                           const Batch& quantiles, const Batch& fractions, const Batch& weight,
                           Batch& gradient, Blocks blocks);

// Sum over samples of weight * (y - z)^2.
double squared_loss(const Batch& targets, const Batch& values, const Batch& weight, Batch& gradient,
                    Blocks blocks);

// ---- distributions over n equally spaced values (support.h): probabilities and logits (n x batch)

void softmax(const Batch& logits, Batch& probabilities, Blocks blocks);

// sum_j p_j z_j (1 x batch).
void distribution_mean(const Support& support, const Batch& probabilities, Batch& mean,
                       Blocks blocks);

// The sum over samples of weight * -sum_j target_j log p_j, and its gradient by the logits.
double cross_entropy(const Batch& targets, const Batch& logits, const Batch& probabilities,
                     const Batch& weight, Batch& gradient, Blocks blocks);

}  // namespace ovde
