// The two critics' quantiles at one sample of a batch, as agent/critic/uncertainty.h reads them.
#pragma once

#include "agent/critic/uncertainty.h"
#include "cuda/layout.h"

namespace ovde::cuda {

struct RowQuantiles {
  OVDE_BOTH int size() const { return n; }
  OVDE_BOTH double value(int critic, int i) const { return z[critic][i]; }
  OVDE_BOTH double weight(int i) const { return weights ? weights[i] : 1.0; }
  OVDE_BOTH const UncertaintyForm& form() const { return uncertainty; }
  const float* z[2];
  const float* weights;  // null: all alike
  int n;
  const UncertaintyForm& uncertainty;
};

// What the quantiles of sample s count, of such weights for all samples; null: all alike.
__device__ inline const float* row_weights(const Agent& agent, const float* all, int s) {
  return agent.iqn && !agent.equal_weights ? all + s * agent.quantiles : nullptr;
}

}  // namespace ovde::cuda
