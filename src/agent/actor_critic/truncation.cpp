#include "agent/actor_critic/truncation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ovde {

void keep_smallest(const Batch& first, const Batch& second, std::vector<float>& all, Batch& kept,
                   Blocks blocks) {
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

Truncation::Truncation(const LearnerOptions& options)
    : kept_(target_count(options.critic.quantiles, options.critic.dropped), options.train.batch) {
  for (auto& all : all_) all.resize(2 * options.critic.quantiles);
}

TargetValues Truncation::choose_targets(const TargetValues& values, int half) {
  keep_smallest(*values.first, *values.second, all_[half], kept_, half_blocks(kept_, half));
  return {&kept_, &kept_, nullptr, {}};
}

}  // namespace ovde
