#include <ovde/random.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include <Random123/philox.h>
#include <Eigen/Core>

namespace ovde {

namespace {
constexpr double kWord = 1.0 / 4294967296.0;  // 2^-32
}

Random::Random(std::uint64_t seed, Stream stream, std::uint32_t substream)
    : seed_(seed), stream_(stream), substream_(substream) {}

// Key = seed, counter = (index low, index high, stream, substream).
std::array<std::uint32_t, 4> Random::block(std::uint64_t seed, Stream stream,
                                           std::uint32_t substream, std::uint64_t index) {
  const r123::Philox4x32::key_type key = {
      {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
  const r123::Philox4x32::ctr_type counter = {{static_cast<std::uint32_t>(index),
                                               static_cast<std::uint32_t>(index >> 32),
                                               static_cast<std::uint32_t>(stream), substream}};
  const auto out = r123::Philox4x32{}(counter, key);
  return {out[0], out[1], out[2], out[3]};
}

std::uint32_t Random::bits() {
  const std::uint64_t index = position_ / 4;
  if (index != cached_index_) {
    cached_ = block(seed_, stream_, substream_, index);
    cached_index_ = index;
  }
  return cached_[position_++ % 4];
}

double Random::uniform() { return bits() * kWord; }

double Random::uniform(double low, double high) { return low + (high - low) * uniform(); }

double Random::normal() {
  const double radius = std::sqrt(-2 * std::log((bits() + 1.0) * kWord));
  const double angle = 2 * std::numbers::pi * (bits() * kWord);
  return radius * std::cos(angle);
}

std::uint32_t Random::below(std::uint32_t n) {
  return static_cast<std::uint32_t>((std::uint64_t{bits()} * n) >> 32);
}

// Uses the same words as Random, in single precision and vectorised.
void fill_normal(std::uint64_t seed, Stream stream, std::uint32_t substream, std::uint64_t first,
                 std::span<float> out) {
  constexpr int kChunk = 64;  // numbers made at a time
  using Half = Eigen::Array<float, kChunk / 2, 1>;

  for (std::size_t done = 0; done < out.size(); done += kChunk) {
    // word pairs -> uniform radius argument in (0, 1] and angle in [0, 2 pi)
    Half u, v;
    for (int i = 0; i < kChunk / 4; ++i) {
      const auto words = Random::block(seed, stream, substream, (first + done) / 4 + i);
      u[2 * i] = (static_cast<float>(words[0] >> 8) + 1) * 0x1p-24f;
      v[2 * i] = static_cast<float>(words[1] >> 8) * 0x1p-24f;
      u[2 * i + 1] = (static_cast<float>(words[2] >> 8) + 1) * 0x1p-24f;
      v[2 * i + 1] = static_cast<float>(words[3] >> 8) * 0x1p-24f;
    }

    // Box-Muller
    const Half radius = (-2.0f * u.log()).sqrt();
    const Half angle = 2 * std::numbers::pi_v<float> * v;
    const Half cosine = radius * angle.cos();
    const Half sine = radius * angle.sin();

    std::array<float, kChunk> made;
    for (int i = 0; i < kChunk / 2; ++i) {
      made[2 * i] = cosine[i];
      made[2 * i + 1] = sine[i];
    }
    const std::size_t count = std::min<std::size_t>(kChunk, out.size() - done);
    std::memcpy(out.data() + done, made.data(), count * sizeof(float));
  }
}

}  // namespace ovde
