#include "agent/noise_discount.h"

#include <algorithm>

#include "agent/equations.h"

namespace ovde {

NoiseDiscount::NoiseDiscount(const LearnerOptions& options)
    : tolerance_(options.rnd.tolerance),
      aleatoric_(options.train.batch),
      share_(1, options.train.batch),
      quantiles_{QuantilePair(options.critic.quantiles), QuantilePair(options.critic.quantiles)} {
  for (QuantilePair& z : quantiles_) z.form = options.critic.uncertainty;
}

void NoiseDiscount::measure(const Batch& first, const Batch& second, const Batch* weights,
                            int half) {
  QuantilePair& z = quantiles_[half];
  const Blocks blocks = half_blocks(share_, half);
  const int last = std::min(blocks.last * kLanes, share_.samples());
  for (int s = blocks.first * kLanes; s < last; ++s) {
    for (int i = 0; i < z.size(); ++i) {
      z.critic[0][i] = first.at(i, s);
      z.critic[1][i] = second.at(i, s);
      if (weights) z.weight[i] = weights->at(i, s);
    }
    aleatoric_[s] = uncertainty(z).aleatoric;
  }
}

// Sums in the order of the samples: the same on any number of threads.
void NoiseDiscount::compare() {
  double sum = 0;
  for (const double sigma : aleatoric_) sum += sigma;
  const double usual = sum / static_cast<double>(aleatoric_.size());
  for (int s = 0; s < share_.samples(); ++s)
    share_.at(0, s) = static_cast<float>(noise_discount(aleatoric_[s], usual, tolerance_));
}

}  // namespace ovde
