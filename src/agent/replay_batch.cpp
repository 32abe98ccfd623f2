#include "agent/replay_batch.h"

#include <algorithm>

namespace ovde {

namespace {
constexpr int kRow = 64;  // rows are a multiple of this; fill_normal works in pieces as long
constexpr int kBlocks = kRow / kLanes;
}  // namespace

int noise_row(int batch) { return round_up(batch, kRow); }

void fill_batch_noise(std::uint64_t seed, Stream stream, std::uint64_t update, Batch& noise,
                      Blocks blocks) {
  const int row = noise_row(noise.samples());
  std::array<float, kRow> piece;
  for (int d = 0; d < noise.features(); ++d) {
    const std::uint64_t first = (update * noise.features() + d) * row;
    for (int b = blocks.first; b < blocks.last; b += kBlocks) {
      const int count = std::min(kBlocks, blocks.last - b);
      fill_normal(seed, stream, 0, first + b * kLanes, std::span(piece).first(count * kLanes));
      for (int i = 0; i < count; ++i)
        std::copy_n(piece.data() + i * kLanes, kLanes, noise.row(b + i, d));
    }
  }
}

void fill_batch_uniform(std::uint64_t seed, Stream stream, std::uint64_t update, Batch& numbers,
                        Blocks blocks) {
  const std::uint64_t row = noise_row(numbers.samples());
  for (int d = 0; d < numbers.features(); ++d) {
    const std::uint64_t first = (update * numbers.features() + d) * row;
    for (int s = blocks.first * kLanes; s < blocks.last * kLanes; s += 4) {
      const auto words = Random::block(seed, stream, 0, (first + s) / 4);
      for (int i = 0; i < 4; ++i) numbers.at(d, s + i) = static_cast<float>(words[i]) * 0x1p-32f;
    }
  }
}

ReplayBatch::ReplayBatch(const LearnerOptions& options)
    : observation(options.observation_size, options.batch),
      next_observation(options.observation_size, options.batch),
      reward(1, options.batch),
      continues(1, options.batch),
      weight(1, options.batch),
      seed_(options.seed),
      discount_(options.discount) {
  for (int s = 0; s < options.batch; ++s)
    weight.at(0, s) = 1.0f / static_cast<float>(options.batch);
}

void ReplayBatch::fill_targets(const Batch& first, const Batch& second, float alpha,
                               const Batch* log_probability, Batch& targets, Blocks blocks) const {
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int v = 0; v < kLanes; v += kVector) {
      const Vector r = load(reward.row(b, 0) + v), c = load(continues.row(b, 0) + v);
      const Vector entropy =
          log_probability ? alpha * load(log_probability->row(b, 0) + v) : Vector{};
      for (int i = 0; i < targets.features(); ++i) {
        const Vector z = smaller(load(first.row(b, i) + v), load(second.row(b, i) + v));
        store(targets.row(b, i) + v, r + c * (z - entropy));
      }
    }
  }
}

}  // namespace ovde
