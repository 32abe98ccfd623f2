// Batches of distributions of the return over n equally spaced values (support.h): their softmax,
// their means, and the cross-entropy.
#pragma once

#include "agent/critic/support.h"
#include "nn/batch.h"

namespace ovde {

// ---- batches: probabilities and logits are (n x batch)

void softmax(const Batch& logits, Batch& probabilities, Blocks blocks);

// sum_j p_j z_j (1 x batch).
void distribution_mean(const Support& support, const Batch& probabilities, Batch& mean,
                       Blocks blocks);

// The sum over samples of weight * -sum_j target_j log p_j, and its gradient by the logits.
double cross_entropy(const Batch& targets, const Batch& logits, const Batch& probabilities,
                     const Batch& weight, Batch& gradient, Blocks blocks);

}  // namespace ovde
