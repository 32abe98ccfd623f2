// A ring of transitions. Keeps the newest `capacity` of them; knows nothing of how they are
// sampled.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "agent/equations.h"

namespace ovde {

class Replay {
 public:
  Replay(int observation_size, int action_size, std::int64_t capacity);

  void add(std::span<const float> observation, std::span<const float> action, float reward,
           std::span<const float> next_observation, EpisodeEnd end);

  std::int64_t size() const { return added_ < capacity_ ? added_ : capacity_; }
  std::int64_t capacity() const { return capacity_; }
  std::int64_t added() const { return added_; }  // ever; the newest row is number added() - 1
  std::int64_t newest() const { return (added_ - 1) % capacity_; }  // its index

  // Marks the row as the last of its episode, which is cut off there. Does nothing where the row
  // has been overwritten.
  void cut_off(std::int64_t number);

  // One transition; `index` < size().
  struct Row {
    const float* observation;
    const float* action;
    float reward;
    const float* next_observation;
    EpisodeEnd end;
  };
  Row row(std::int64_t index) const;

  // Rows as they lie in memory, for saving: row_floats() numbers each, at index number % capacity.
  int row_floats() const { return 2 * observation_size_ + action_size_ + 2; }
  std::span<const float> raw(std::int64_t index, std::int64_t count) const;
  // Restores rows saved by raw(). Versions until 38772dc saved -0 for EpisodeEnd::cut_off.
  void restore(std::int64_t index, std::span<const float> rows);
  void set_added(std::int64_t added) { added_ = added; }

 private:
  int observation_size_;
  int action_size_;
  std::int64_t capacity_;
  std::int64_t added_ = 0;
  std::unique_ptr<float[]> rows_;  // not touched before it is filled: memory grows with the run
};

}  // namespace ovde
