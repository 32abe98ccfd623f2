// The replay buffer, a ring of transitions, and the draws of an update: rows of the buffer and
// noise. All random numbers of an update are addressed by its number (agent/equations.h), so that
// there is nothing to save, and they are the same on any number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include <ovde/random.h>
#include "agent/options.h"
#include "nn/network.h"

namespace ovde {

// Keeps the newest `capacity` transitions.
class Replay {
 public:
  Replay(int observation_size, int action_size, std::int64_t capacity);

  // Memory of the next transition: the caller fills it, then calls add().
  struct Slot {
    std::span<float> observation, action, next_observation;
  };
  Slot next_slot();
  void add(float reward, EpisodeEnd end);
  // The same in one call.
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
  int row_floats() const { return replay_row_floats(observation_size_, action_size_); }
  std::span<const float> raw(std::int64_t index, std::int64_t count) const;
  // Calls visit(index, count) for rows number `begin` to `end` - 1, which lie in memory in one
  // piece or, around the end of the ring, in two.
  template <typename Visit>
  void for_each_piece(std::int64_t begin, std::int64_t end, Visit&& visit) const {
    while (begin < end) {
      const std::int64_t index = begin % capacity_,
                         count = std::min(end - begin, capacity_ - index);
      visit(index, count);
      begin += count;
    }
  }
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

// Standard normal numbers of update number `update` for every sample of `blocks`.
void fill_batch_noise(std::uint64_t seed, Stream stream, std::uint64_t update, Batch& noise,
                      Blocks blocks);

// The same with numbers U(0, 1).
void fill_batch_uniform(std::uint64_t seed, Stream stream, std::uint64_t update, Batch& numbers,
                        Blocks blocks);

// Copies all rows of one batch to the rows of another from row `first` on.
void copy_rows(const Batch& from, Batch& to, int first, Blocks blocks);

// The transitions of an update, without their actions, which each learner keeps in its own form.
class ReplayBatch {
 public:
  explicit ReplayBatch(const LearnerOptions& options);

  // Draws the rows of update number `update`, uniformly with replacement, for every lane of
  // `blocks`, those beyond the batch included. Calls use_action(sample, action) for each.
  template <typename UseAction>
  void draw(const Replay& replay, std::uint64_t update, Blocks blocks, UseAction&& use_action) {
    const std::uint64_t first_block = update * noise_row(weight.samples()) / 4;
    const std::int64_t newest = replay.newest();
    std::array<std::uint32_t, 4> words{};
    for (int s = blocks.first * kLanes; s < blocks.last * kLanes; ++s) {
      if (s % 4 == 0) words = Random::block(seed_, Stream::replay_batch, 0, first_block + s / 4);
      const auto first = static_cast<std::int64_t>(replay_index(words[s % 4], replay.size()));
      const NStepReturn sum = n_step_return(
          first, n_step_, discount_, newest, replay.capacity(),
          [&](std::int64_t i) { return replay.row(i).reward; },
          [&](std::int64_t i) { return replay.row(i).end; });
      const auto row = replay.row(first), last = replay.row(sum.last);
      for (int f = 0; f < observation.features(); ++f) {
        observation.at(f, s) = row.observation[f];
        next_observation.at(f, s) = last.next_observation[f];
      }
      reward.at(0, s) = reward_scale * sum.reward;
      continues.at(0, s) = discount_ * sum.discount * value_counts(last.end);
      use_action(s, row.action);
    }
  }

  // The critics' targets (Eq. 4), given the values of both target critics at (s', a') (N x batch)
  // and their blend. log_probability (1 x batch); null: a' was not drawn.
  void fill_targets(const Batch& first, const Batch& second, float alpha,
                    const Batch* log_probability, Batch& targets, Blocks blocks,
                    const Blend& blend = {}) const;

  BatchPair observations() const { return {observation, next_observation}; }

  Batch observation, next_observation;  // (observations x batch)
  Batch reward;                         // (1 x batch)
  Batch continues;                      // (1 x batch): the discount; 0 after a terminal state
  Batch weight;                         // (1 x batch): 1 / batch; 0 in lanes beyond the batch
  float reward_scale = 1;               // the factor of the rewards (reward_scale.h)

 private:
  std::uint64_t seed_;
  float discount_;
  int n_step_;
};

}  // namespace ovde
