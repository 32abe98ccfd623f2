#include "agent/replay.h"

#include <algorithm>
#include <cmath>

namespace ovde {

Replay::Replay(int observation_size, int action_size, std::int64_t capacity)
    : observation_size_(observation_size),
      action_size_(action_size),
      capacity_(capacity),
      rows_(new float[static_cast<std::size_t>(capacity) * row_floats()]) {}

void Replay::add(std::span<const float> observation, std::span<const float> action, float reward,
                 std::span<const float> next_observation, EpisodeEnd end) {
  float* out = rows_.get() + added_ % capacity_ * row_floats();
  out = std::ranges::copy(observation, out).out;
  out = std::ranges::copy(action, out).out;
  *out++ = reward;
  out = std::ranges::copy(next_observation, out).out;
  *out = static_cast<float>(end);
  ++added_;
}

void Replay::cut_off(std::int64_t number) {
  if (number < added_ - size() || number >= added_) return;
  float& end = rows_[(number % capacity_ + 1) * row_floats() - 1];
  if (end == static_cast<float>(EpisodeEnd::none)) end = static_cast<float>(EpisodeEnd::cut_off);
}

Replay::Row Replay::row(std::int64_t index) const {
  const float* p = rows_.get() + index * row_floats();
  const float* reward = p + observation_size_ + action_size_;
  return {p, p + observation_size_, *reward, reward + 1,
          static_cast<EpisodeEnd>(reward[1 + observation_size_])};
}

std::span<const float> Replay::raw(std::int64_t index, std::int64_t count) const {
  return {rows_.get() + index * row_floats(), static_cast<std::size_t>(count * row_floats())};
}

void Replay::restore(std::int64_t index, std::span<const float> rows) {
  float* out = std::ranges::copy(rows, rows_.get() + index * row_floats()).out;
  for (float* end = rows_.get() + (index + 1) * row_floats() - 1; end < out; end += row_floats()) {
    if (*end == 0 && std::signbit(*end)) *end = static_cast<float>(EpisodeEnd::cut_off);
  }
}

}  // namespace ovde
