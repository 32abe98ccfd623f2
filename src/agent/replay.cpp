#include "agent/replay.h"

#include <cmath>

namespace ovde {

// ---- the buffer

Replay::Replay(int observation_size, int action_size, std::int64_t capacity)
    : observation_size_(observation_size),
      action_size_(action_size),
      capacity_(capacity),
      rows_(new float[static_cast<std::size_t>(capacity) * row_floats()]) {}

Replay::Slot Replay::next_slot() {
  const auto observations = static_cast<std::size_t>(observation_size_),
             actions = static_cast<std::size_t>(action_size_);
  float* row = rows_.get() + added_ % capacity_ * row_floats();
  return {{row, observations},
          {row + observations, actions},
          {row + observations + actions + 1, observations}};
}

void Replay::add(float reward, EpisodeEnd end) {
  float* row = rows_.get() + added_ % capacity_ * row_floats();
  row[observation_size_ + action_size_] = reward;
  row[row_floats() - 1] = static_cast<float>(end);
  ++added_;
}

void Replay::add(std::span<const float> observation, std::span<const float> action, float reward,
                 std::span<const float> next_observation, EpisodeEnd end) {
  const Slot slot = next_slot();
  std::ranges::copy(observation, slot.observation.begin());
  std::ranges::copy(action, slot.action.begin());
  std::ranges::copy(next_observation, slot.next_observation.begin());
  add(reward, end);
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
  float* first = rows_.get() + index * row_floats();
  std::ranges::copy(rows, first);
  for (std::size_t i = row_floats() - 1; i < rows.size(); i += row_floats()) {
    if (first[i] == 0 && std::signbit(first[i])) first[i] = static_cast<float>(EpisodeEnd::cut_off);
  }
}

// ---- draws of an update

namespace {
constexpr int kBlocks = kNoiseRow / kLanes;  // fill_normal works in pieces of kNoiseRow numbers
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

void copy_rows(const Batch& from, Batch& to, int first, Blocks blocks) {
  for (int b = blocks.first; b < blocks.last; ++b)
    std::copy_n(from.block(b), from.features() * kLanes, to.row(b, first));
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
                               const Blend& blend) const {
  over_samples(blocks, [&](int b, int v) {
    const Vector r = load(reward.row(b, 0) + v), c = load(continues.row(b, 0) + v);
    const Vector entropy =
        log_probability ? alpha * load(log_probability->row(b, 0) + v) : Vector{};
    for (int i = 0; i < targets.features(); ++i) {
      store(targets.row(b, i) + v,
            td_target(r, c, load(first.row(b, i) + v), load(second.row(b, i) + v), entropy, blend));
    }
  });
}

}  // namespace ovde
