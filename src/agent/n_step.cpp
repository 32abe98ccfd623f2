#include "agent/n_step.h"

#include <algorithm>

namespace ovde {

NStepReturns::NStepReturns(int n, float discount, int observation_size, int action_size)
    : n_(n),
      observation_size_(observation_size),
      action_size_(action_size),
      row_floats_(observation_size + action_size + 1),
      powers_(n, 1),
      rows_(static_cast<std::size_t>(n) * row_floats_) {
  for (int k = 1; k < n; ++k) powers_[k] = powers_[k - 1] * discount;
}

void NStepReturns::add(std::span<const float> observation, std::span<const float> action,
                       float reward, std::span<const float> next_observation, bool terminal,
                       bool last, Replay& replay) {
  int count = static_cast<int>(waiting_);
  for (int i = 0; i < count; ++i) row(i)[row_floats_ - 1] += powers_[count - i] * reward;
  float* end = std::ranges::copy(observation, row(count)).out;
  *std::ranges::copy(action, end).out = reward;
  ++count;

  int gone = 0;
  for (; gone < count && (last || count - gone == n_); ++gone) {
    const float* from = row(gone);
    const int steps = count - gone;
    // what an update multiplies by the discount once more: discount^steps in all
    const float continues = terminal ? 0 : powers_[steps - 1];
    replay.add({from, static_cast<std::size_t>(observation_size_)},
               {from + observation_size_, static_cast<std::size_t>(action_size_)},
               from[row_floats_ - 1], next_observation, 1 - continues);
  }
  std::copy(row(gone), row(count), row(0));
  waiting_ = count - gone;
}

void NStepReturns::add_state(LearnerState& state) {
  if (n_ == 1) return;
  state.arrays.emplace_back("returns.rows", rows_);
  state.statistics.emplace_back("returns.waiting", std::span(&waiting_, 1));
}

}  // namespace ovde
