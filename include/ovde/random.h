// Counter-based random numbers (Random123 Philox4x32-10). A stream is named by (seed, stream,
// substream) and its whole state is one counter: nothing to lose at a resume, and the same numbers
// on every machine and device.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace ovde {

// What a stream is for. The numbers are part of the file format of a checkpoint: append, never
// reorder.
enum class Stream : std::uint32_t {
  initial_parameters = 0,
  behaviour_noise = 1,   // the policy's own noise while it collects
  replay_batch = 2,      // which rows an update sees
  actor_noise = 3,       // reparameterisation noise at s
  target_noise = 4,      // the same at s'
  episode_seeds = 5,     // seeds of the exploring environment's episodes
  evaluation_seeds = 6,  // and of the evaluation's
  environment = 7,       // used inside environments
  disturbance = 8,       // injected noise (noise.*), independent of the environment's own
  explorer = 9,          // samples of the optimistic value distribution
  bootstrap = 10,        // statistics
  fractions = 11,        // at which an update asks implicit quantile networks
  scaling = 12,          // random actions under which observations are measured
  optimist_noise = 13,   // as actor_noise, of a second actor that explores
  user = 1000,           // first number free for a user's own streams
};

class Random {
 public:
  Random() : Random(0, Stream::user) {}
  Random(std::uint64_t seed, Stream stream, std::uint32_t substream = 0);

  std::uint32_t bits();  // 32 random bits
  double uniform();      // [0, 1), 32 bits of it
  double uniform(double low, double high);
  double normal();  // N(0, 1), Box-Muller
  std::uint32_t below(
      std::uint32_t n);  // 0 .. n-1 without bias that matters (32 x 32 -> 64 bit multiply)

  // The number of 32-bit words drawn so far; seek() continues from there.
  std::uint64_t position() const { return position_; }
  void seek(std::uint64_t position) { position_ = position; }

  // One block of four words at a given counter: what the learner and a GPU use to address numbers
  // directly.
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

// Standard normal numbers number first .. first + out.size() - 1 of a stream: word pair i gives
// numbers 2i and 2i + 1. `first` must be a multiple of 4.
void fill_normal(std::uint64_t seed, Stream stream, std::uint32_t substream, std::uint64_t first,
                 std::span<float> out);

}  // namespace ovde
