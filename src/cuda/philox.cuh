// The random numbers of include/ovde/random.h on the GPU: the same words at the same counters.
#pragma once

#include <cstdint>

namespace ovde::cuda {

// The streams an update draws from; the numbers are those of ovde::Stream.
inline constexpr std::uint32_t kReplayBatch = 2, kActorNoise = 3, kTargetNoise = 4, kFractions = 11;

// Numbers of a batch are numbered in rows of a multiple of this, as in agent/learner.cpp.
inline constexpr int kNumbering = 64;

// Philox4x32-10 (Salmon et al., 2011).
__device__ inline uint4 random_block(std::uint64_t seed, std::uint32_t stream,
                                     std::uint64_t index) {
  uint4 c = make_uint4(static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
                       stream, 0);
  std::uint32_t k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c.x,
                        p1 = std::uint64_t{0xCD9E8D57u} * c.z;
    c = make_uint4(static_cast<std::uint32_t>(p1 >> 32) ^ c.y ^ k0, static_cast<std::uint32_t>(p1),
                   static_cast<std::uint32_t>(p0 >> 32) ^ c.w ^ k1, static_cast<std::uint32_t>(p0));
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return c;
}

// Word number `number` of a stream.
__device__ inline std::uint32_t random_word(std::uint64_t seed, std::uint32_t stream,
                                            std::uint64_t number) {
  const uint4 words = random_block(seed, stream, number / 4);
  return number % 4 == 0   ? words.x
         : number % 4 == 1 ? words.y
         : number % 4 == 2 ? words.z
                           : words.w;
}

// Which row of the replay buffer is sample `s` of an update.
__device__ inline std::uint64_t replay_index(std::uint64_t seed, std::uint64_t update, int batch,
                                             int s, std::uint64_t rows) {
  const int row = (batch + kNumbering - 1) / kNumbering * kNumbering;
  const std::uint32_t word = random_word(seed, kReplayBatch, update * row + s);
  return (std::uint64_t{word} * rows) >> 32;
}

// Standard normal number `number` of a stream (Box-Muller; a pair of words gives two numbers).
__device__ inline float normal(std::uint64_t seed, std::uint32_t stream, std::uint64_t number) {
  const uint4 words = random_block(seed, stream, number / 4);
  const bool second = number % 4 >= 2;
  const float u = (static_cast<float>((second ? words.z : words.x) >> 8) + 1) * 0x1p-24f;
  const float v = static_cast<float>((second ? words.w : words.y) >> 8) * 0x1p-24f;
  const float radius = sqrtf(-2.0f * logf(u));
  const float angle = 6.283185307179586f * v;
  return radius * (number % 2 == 0 ? cosf(angle) : sinf(angle));
}

// The policy's noise for action `d` of sample `s`.
__device__ inline float batch_noise(std::uint64_t seed, std::uint32_t stream, std::uint64_t update,
                                    int batch, int actions, int d, int s) {
  const int row = (batch + kNumbering - 1) / kNumbering * kNumbering;
  return normal(seed, stream, (update * actions + d) * row + s);
}

// What a set of fractions is for, as in agent/fractions.h.
enum class FractionsFor : int { target, prediction, policy };

// The number U(0, 1) of fraction `i` of sample `s`.
__device__ inline float fraction_number(std::uint64_t seed, std::uint64_t update,
                                        FractionsFor purpose, int batch, int fractions, int i,
                                        int s) {
  const int row = (batch + kNumbering - 1) / kNumbering * kNumbering;
  const std::uint64_t set = update * 3 + static_cast<int>(purpose);
  return static_cast<float>(random_word(seed, kFractions, (set * fractions + i) * row + s)) *
         0x1p-32f;
}

}  // namespace ovde::cuda
