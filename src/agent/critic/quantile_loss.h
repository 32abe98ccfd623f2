// The critic's loss: quantile regression with Huber's kappa = 1 (Eq. 2 and 4), or the squared error
// for one value.
#pragma once

#include <vector>

#include "nn/batch.h"

namespace ovde {

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

}  // namespace ovde
