// The truncated targets of TQC (Kuznetsov et al., 2020): of the values of both target critics
// together the largest are left out, against overestimation.
#pragma once

#include <array>
#include <vector>

#include "agent/actor_critic/extension.h"

namespace ovde {

// Targets of a sample: one for each of a critic's n values, or all values of both critics but
// `dropped` for each critic.
inline int target_count(int n, int dropped) { return dropped > 0 ? 2 * (n - dropped) : n; }

// Copies the smallest of both critics' values (N x batch) at each sample into `kept` (K x batch),
// in no particular order; all NaN where one of them is. `all` is memory for 2 N values.
void keep_smallest(const Batch& first, const Batch& second, std::vector<float>& all, Batch& kept,
                   Blocks blocks);

class Truncation final : public Extension {
 public:
  explicit Truncation(const LearnerOptions& options);

  TargetValues choose_targets(const TargetValues& values, int half) override;

 private:
  Batch kept_;
  std::array<std::vector<float>, 2> all_;  // one sample's values, for each half
};

}  // namespace ovde
