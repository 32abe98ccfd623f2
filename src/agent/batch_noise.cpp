#include "agent/batch_noise.h"

#include <algorithm>
#include <array>

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

}  // namespace ovde
