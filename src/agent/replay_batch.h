// Which rows of the replay buffer an update sees: drawn uniformly, with replacement, by numbers
// that the update's number addresses.
#pragma once

#include <array>
#include <cstdint>

#include <ovde/random.h>
#include "agent/batch_noise.h"
#include "agent/replay.h"
#include "nn/batch.h"

namespace ovde {

// Calls use(sample, row) for every lane of `blocks`, those beyond the batch included.
template <typename Use>
void for_each_row(const Replay& replay, std::uint64_t seed, std::uint64_t update, int batch,
                  Blocks blocks, Use&& use) {
  const std::uint64_t first_block = update * noise_row(batch) / 4;
  std::array<std::uint32_t, 4> words{};
  for (int s = blocks.first * kLanes; s < blocks.last * kLanes; ++s) {
    if (s % 4 == 0) words = Random::block(seed, Stream::replay_batch, 0, first_block + s / 4);
    use(s,
        replay.row(static_cast<std::int64_t>((std::uint64_t{words[s % 4]} * replay.size()) >> 32)));
  }
}

}  // namespace ovde
