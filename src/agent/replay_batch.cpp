#include "agent/replay_batch.h"

#include <algorithm>

namespace ovde {

namespace {
constexpr int kBlocks = kNoiseRow / kLanes;  // fill_normal works in pieces as long as a row's unit
}  // namespace

void fill_batch_noise(std::uint64_t seed, Stream stream, std::uint64_t update, Batch& noise,
                      Blocks blocks) {
  std::array<float, kNoiseRow> piece;
  for (int d = 0; d < noise.features(); ++d) {
    const std::uint64_t first = noise_begin(update, noise.features(), d, noise.samples());
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
  for (int d = 0; d < numbers.features(); ++d) {
    const std::uint64_t first = noise_begin(update, numbers.features(), d, numbers.samples());
    for (int s = blocks.first * kLanes; s < blocks.last * kLanes; s += 4) {
      const auto words = Random::block(seed, stream, 0, (first + s) / 4);
      for (int i = 0; i < 4; ++i) numbers.at(d, s + i) = static_cast<float>(words[i]) * 0x1p-32f;
    }
  }
}

ReplayBatch::ReplayBatch(const LearnerOptions& options)
    : observation(options.observation_size, options.train.batch),
      next_observation(options.observation_size, options.train.batch),
      reward(1, options.train.batch),
      continues(1, options.train.batch),
      weight(1, options.train.batch),
      seed_(options.seed),
      discount_(options.train.discount),
      n_step_(options.train.n_step) {
  for (int s = 0; s < options.train.batch; ++s)
    weight.at(0, s) = 1.0f / static_cast<float>(options.train.batch);
}

void ReplayBatch::fill_targets(const Batch& first, const Batch& second, float alpha,
                               const Batch* log_probability, Batch& targets, Blocks blocks,
                               const Blend& share) const {
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int v = 0; v < kLanes; v += kVector) {
      const Vector r = load(reward.row(b, 0) + v), c = load(continues.row(b, 0) + v);
      const Vector entropy =
          log_probability ? alpha * load(log_probability->row(b, 0) + v) : Vector{};
      for (int i = 0; i < targets.features(); ++i) {
        store(targets.row(b, i) + v, td_target(r, c, load(first.row(b, i) + v),
                                               load(second.row(b, i) + v), entropy, share));
      }
    }
  }
}

}  // namespace ovde
