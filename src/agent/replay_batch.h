// What an update draws: the rows of the replay buffer that it sees, and its noise. All numbers are
// addressed by the update's number (agent/equations.h): nothing to save, and the same on any number
// of threads.
#pragma once

#include <array>
#include <cstdint>

#include <ovde/random.h>
#include "agent/equations.h"
#include "agent/learning.h"
#include "agent/replay.h"
#include "nn/batch.h"

namespace ovde {

// Standard normal numbers of update number `update` for every sample of `blocks`.
void fill_batch_noise(std::uint64_t seed, Stream stream, std::uint64_t update, Batch& noise,
                      Blocks blocks);

// The same with numbers U(0, 1).
void fill_batch_uniform(std::uint64_t seed, Stream stream, std::uint64_t update, Batch& numbers,
                        Blocks blocks);

// The transitions of an update but for their actions, which are the learner's own affair.
class ReplayBatch {
 public:
  explicit ReplayBatch(const LearnerOptions& options);

  // Rows of update number `update`, drawn uniformly with replacement, for every lane of `blocks`,
  // those beyond the batch included. Calls use_action(sample, action) for each.
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
      reward.at(0, s) = sum.reward;
      continues.at(0, s) = discount_ * sum.discount * value_counts(last.end);
      use_action(s, row.action);
    }
  }

  // The critics' targets (Eq. 4), given what their target networks say at (s', a') (N x batch), and
  // what counts of the smaller and of the larger.
  // log_probability (1 x batch); null: a' was not drawn.
  void fill_targets(const Batch& first, const Batch& second, float alpha,
                    const Batch* log_probability, Batch& targets, Blocks blocks,
                    const Blend& share = {}) const;

  Batch observation, next_observation;  // (observations x batch)
  Batch reward, continues;  // (1 x batch); continues: discount where the transition is not terminal
  Batch weight;             // (1 x batch): 1 / batch; 0 in lanes beyond the batch

 private:
  std::uint64_t seed_;
  float discount_;
  int n_step_;
};

}  // namespace ovde
