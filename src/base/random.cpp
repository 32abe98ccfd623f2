#include <ovde/random.h>

#include <cmath>
#include <numbers>

#include <Random123/philox.h>

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

}  // namespace ovde
