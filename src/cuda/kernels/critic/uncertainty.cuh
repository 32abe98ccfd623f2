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

}  // namespace ovde::cuda
