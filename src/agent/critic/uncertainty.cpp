#include "agent/critic/uncertainty.h"

namespace ovde {

template Uncertainty uncertainty(const OneThread&, const PairQuantiles&);

Uncertainty uncertainty(const QuantilePair& z) {
  return uncertainty(OneThread{}, PairQuantiles{z});
}

void uncertainty_gradient(const QuantilePair& z, const Uncertainty& u, double by_mean,
                          double by_epistemic, double by_aleatoric, QuantilePair& out) {
  const UncertaintyGradient gradient(u, z.size(), z.form, by_mean, by_epistemic, by_aleatoric);
  for (int i = 0; i < z.size(); ++i) {
    const ByQuantile g = gradient.at(PairQuantiles{z}, i);
    for (int k = 0; k < 2; ++k) out.critic[k][i] = g.critic[k];
  }
}

}  // namespace ovde
