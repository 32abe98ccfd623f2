// The truncated targets of TQC (Kuznetsov et al., 2020): of the values of both target critics
// together the largest are left out, against overestimation.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "agent/actor_critic/extension.h"

namespace ovde {

// Copies the smallest of both critics' values (N x batch) at each sample into `kept` (K x batch),
// in no particular order; all NaN where one of them is. `all` is memory for 2 N values.
inline void keep_smallest(const Batch& first, const Batch& second, std::vector<float>& all,
                          Batch& kept, Blocks blocks) {
  const int n = first.features();
  for (int s = blocks.first * kLanes; s < blocks.last * kLanes; ++s) {
    for (int i = 0; i < n; ++i) {
      all[i] = first.at(i, s);
      all[n + i] = second.at(i, s);
    }
    if (std::ranges::any_of(all, [](float z) { return std::isnan(z); }))
      std::ranges::fill(all, std::numeric_limits<float>::quiet_NaN());
    else
      std::ranges::nth_element(all, all.begin() + kept.features() - 1);
    for (int i = 0; i < kept.features(); ++i) kept.at(i, s) = all[i];
  }
}

class Truncation final : public Extension {
 public:
  explicit Truncation(const LearnerOptions& options)
      : kept_(2 * (options.critic.quantiles - options.critic.dropped), options.train.batch) {
    for (auto& all : all_) all.resize(2 * options.critic.quantiles);
  }

  int target_count(int) const override { return kept_.features(); }
  TargetValues choose_targets(const TargetValues& values, int half) override {
    keep_smallest(*values.first, *values.second, all_[half], kept_, half_blocks(kept_, half));
    return {&kept_, &kept_, nullptr, {}};
  }

 private:
  Batch kept_;
  std::array<std::vector<float>, 2> all_;  // one sample's values, for each half
};

}  // namespace ovde
