// A ring of transitions. Keeps the newest `capacity` of them; knows nothing of how they are
// sampled.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace ovde {

class Replay {
 public:
  Replay(int observation_size, int action_size, std::int64_t capacity);

  void add(std::span<const float> observation, std::span<const float> action, float reward,
           std::span<const float> next_observation, float terminal);

  std::int64_t size() const { return added_ < capacity_ ? added_ : capacity_; }
  std::int64_t capacity() const { return capacity_; }
  std::int64_t added() const { return added_; }  // ever; the newest row is number added() - 1
  std::int64_t newest() const { return (added_ - 1) % capacity_; }  // its index

  // The episode of this row ends with it: its rest will not be seen. Nothing where the row is no
  // longer there.
  void cut_off(std::int64_t number);

  // One transition: observation, action, reward, next observation, terminal: 1, or 0 where the
  // return goes on, kCutOff (n_step.h) where its episode does not. `index` < size().
  struct Row {
    const float* observation;
    const float* action;
    float reward;
    const float* next_observation;
    float terminal;
  };
  Row row(std::int64_t index) const;

  // Rows as they lie in memory, for saving: row_floats() numbers each, at index number % capacity.
  int row_floats() const { return 2 * observation_size_ + action_size_ + 2; }
  std::span<const float> raw(std::int64_t index, std::int64_t count) const;
  // Puts back rows saved by raw(), then says how many were ever added.
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
