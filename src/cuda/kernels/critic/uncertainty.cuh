// Both critics' quantiles at one (s, a) in arrays, and their uncertainty
// (agent/critic/uncertainty.h).
#pragma once

#include <cuda_runtime.h>

#include "agent/critic/uncertainty.h"
#include "cuda/agent.h"

namespace ovde::cuda {

template <typename Number>
struct ArrayQuantiles {
  OVDE_BOTH int size() const { return n; }
  OVDE_BOTH double value(int critic, int i) const { return z[critic][i]; }
  OVDE_BOTH double weight(int i) const { return weights ? weights[i] : 1.0; }
  OVDE_BOTH const UncertaintyForm& form() const { return uncertainty; }
  const Number* z[2];
  const Number* weights;  // null: all are equal
  int n;
  const UncertaintyForm& uncertainty;
};

// At sample s of both critics' quantiles (batch x N) and, where quantiles have weights, theirs.
__device__ inline Uncertainty uncertainty_at(const Agent& agent, float* const (&quantiles)[2],
                                             const float* weights, int s) {
  const int n = agent.critic.quantiles;
  const bool weighted = agent.iqn && !agent.has_equal_weights();
  return uncertainty(OneThread{},
                     ArrayQuantiles<float>{{quantiles[0] + s * n, quantiles[1] + s * n},
                                           weighted ? weights + s * n : nullptr,
                                           n,
                                           agent.critic.uncertainty});
}

// The mean over a batch of the uncertainties that at(sample) returns, by a block of kThreads;
// thread 0 returns it.
template <int kThreads, typename At>
__device__ ValueReport mean_over_batch(int batch, At&& at) {
  __shared__ double sums[3][kThreads];
  double total[3] = {};
  for (int s = threadIdx.x; s < batch; s += kThreads) {
    const Uncertainty u = at(s);
    total[0] += u.mean;
    total[1] += u.epistemic;
    total[2] += u.aleatoric;
  }
  for (int j = 0; j < 3; ++j) sums[j][threadIdx.x] = total[j];
  __syncthreads();
  if (threadIdx.x != 0) return {};
  for (int t = 1; t < kThreads; ++t) {
    for (int j = 0; j < 3; ++j) sums[j][0] += sums[j][t];
  }
  return {sums[0][0] / batch, sums[1][0] / batch, sums[2][0] / batch};
}

}  // namespace ovde::cuda
