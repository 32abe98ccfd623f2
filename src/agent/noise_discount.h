// How much of a bonus for what is new is left where the return is noisy: novelty that nothing can
// be learnt from stops being interesting. Aleatoric uncertainty is measured in units of its own
// mean over the batch, so that no scale of rewards and no state is needed. The bonus itself is
// rnd.h.
#pragma once

#include <array>
#include <vector>

#include "agent/learning.h"

namespace ovde {

class NoiseDiscount {
 public:
  explicit NoiseDiscount(const LearnerOptions& options);

  // The aleatoric uncertainty of one half of the batch, by both critics' quantiles (N x batch) and
  // what each counts (likewise; null: all alike). The halves may be measured side by side.
  void measure(const Batch& first, const Batch& second, const Batch* weights, int half);
  // The shares, once both halves have been measured.
  void compare();
  // What is left of each sample's bonus (1 x batch).
  const Batch& share() const { return share_; }

 private:
  double tolerance_;
  std::vector<double> aleatoric_;
  Batch share_;
  std::array<QuantilePair, 2> quantiles_;  // of one sample, for each half
};

}  // namespace ovde
