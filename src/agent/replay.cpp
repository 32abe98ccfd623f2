#include "agent/replay.h"

#include <algorithm>

#include "agent/n_step.h"

namespace ovde {

Replay::Replay(int observation_size, int action_size, std::int64_t capacity)
    : observation_size_(observation_size),
      action_size_(action_size),
      capacity_(capacity),
      rows_(new float[static_cast<std::size_t>(capacity) * row_floats()]) {}

void Replay::add(std::span<const float> observation, std::span<const float> action, float reward,
                 std::span<const float> next_observation, float terminal) {
  float* out = rows_.get() + added_ % capacity_ * row_floats();
  out = std::ranges::copy(observation, out).out;
  out = std::ranges::copy(action, out).out;
  *out++ = reward;
  out = std::ranges::copy(next_observation, out).out;
  *out = terminal;
  ++added_;
}

void Replay::cut_off(std::int64_t number) {
  if (number < added_ - size() || number >= added_) return;
  float& terminal = rows_[(number % capacity_ + 1) * row_floats() - 1];
  if (terminal == 0) terminal = kCutOff;
}

Replay::Row Replay::row(std::int64_t index) const {
  const float* p = rows_.get() + index * row_floats();
  const float* reward = p + observation_size_ + action_size_;
  return {p, p + observation_size_, *reward, reward + 1, reward[1 + observation_size_]};
}

std::span<const float> Replay::raw(std::int64_t index, std::int64_t count) const {
  return {rows_.get() + index * row_floats(), static_cast<std::size_t>(count * row_floats())};
}

void Replay::restore(std::int64_t index, std::span<const float> rows) {
  std::ranges::copy(rows, rows_.get() + index * row_floats());
}

}  // namespace ovde
