// Counter-based random numbers (Random123 Philox4x32-10). A stream is identified by (seed, stream,
// substream), and its state is one counter, which is easy to save; numbers are the same on every
// machine and device.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace ovde {

// The use of a stream. Results depend on these numbers: append, never reorder.
enum class Stream : std::uint32_t {
  initial_parameters = 0,
  behaviour_noise = 1,   // exploration noise of the policy
  replay_batch = 2,      // indices of sampled transitions
  actor_noise = 3,       // reparameterisation noise at s
  target_noise = 4,      // reparameterisation noise at s'
  episode_seeds = 5,     // seeds of training episodes
  evaluation_seeds = 6,  // seeds of evaluation episodes
  environment = 7,       // for use in environments
  disturbance = 8,       // injected noise (noise.*)
  explorer = 9,          // samples of the optimistic value distribution
  bootstrap = 10,        // statistics
  fractions = 11,        // quantile fractions of implicit quantile networks
  scaling = 12,          // random actions: the scale of observations, a baseline
  optimist_noise = 13,   // reparameterisation noise of a second, exploring actor
  user = 1000,           // first number for your own streams
};

class Random {
 public:
  Random() : Random(0, Stream::user) {}
  Random(std::uint64_t seed, Stream stream, std::uint32_t substream = 0);

  std::uint32_t bits();  // 32 random bits
  double uniform();      // in [0, 1), a multiple of 2^-32
  double uniform(double low, double high);
  double normal();                       // N(0, 1), Box-Muller
  std::uint32_t below(std::uint32_t n);  // 0 .. n-1; its bias is below n / 2^32

  // The number of 32-bit words drawn so far; seek() continues from there.
  std::uint64_t position() const { return position_; }
  void seek(std::uint64_t position) { position_ = position; }

  // Words 4 * index .. 4 * index + 3 of a stream.
  static std::array<std::uint32_t, 4> block(std::uint64_t seed, Stream stream,
                                            std::uint32_t substream, std::uint64_t index);

 private:
  std::uint64_t seed_;
  Stream stream_;
  std::uint32_t substream_;
  std::uint64_t position_ = 0;
  std::uint64_t cached_index_ = ~std::uint64_t{0};
  std::array<std::uint32_t, 4> cached_{};
};

// Standard normal numbers first .. first + out.size() - 1 of a stream, in single precision; word
// pair i gives numbers 2i and 2i + 1. `first` must be a multiple of 4.
void fill_normal(std::uint64_t seed, Stream stream, std::uint32_t substream, std::uint64_t first,
                 std::span<float> out);

}  // namespace ovde
