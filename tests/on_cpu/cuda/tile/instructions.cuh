// src/cuda/tile/instructions.cuh on a CPU: each instruction by its arithmetic.
#pragma once

#include <cuda_fp16.h>

#define OVDE_ON_DEVICE
#define OVDE_BLOCK_MEMORY(name) unsigned char* const name = on_cpu::block_memory

namespace ovde::cuda {

inline void assume_global(const void*) {}
inline void sync_first_128() { on_cpu::wait_for_first(128); }

// ---- memory

// A copy is done by the wait, not before.
inline void copy_async(float* to, const float* from, bool valid) {
  on_cpu::begin_copy(to, valid ? from : nullptr);
}
inline void commit_copies() { on_cpu::end_group_of_copies(); }
template <int kLeft>
inline void wait_for_copies() {
  on_cpu::finish_copies(kLeft);
}

inline void prefetch(const float*) {}

// ---- operands of the tensor cores

// The rows that each lane gives, and where it receives its part (tensor_core.cpp).
struct Load {
  const void* row;
  std::uint32_t* to;
};
void load_blocks_of_warp(void* const* lanes, unsigned active);
void load_transposed_of_warp(void* const* lanes, unsigned active);

inline void load_blocks(std::uint32_t (&r)[4], const float* from) {
  Load mine{from, r};
  on_cpu::meet(&mine, load_blocks_of_warp);
}
inline void load_transposed(std::uint32_t (&r)[4], const void* from) {
  Load mine{from, r};
  on_cpu::meet(&mine, load_transposed_of_warp);
}

// A lane's part of c (16 x 8) += a b.
struct Product {
  float* c;
  const std::uint32_t* a;
  std::uint32_t b[2];
};
void multiply_of_warp(void* const* lanes, unsigned active);
void multiply_half_of_warp(void* const* lanes, unsigned active);

inline void multiply(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                     std::uint32_t b1) {
  Product mine{c, a, {b0, b1}};
  on_cpu::meet(&mine, multiply_of_warp);
}
// Three products, for which the lanes meet once.
struct ExactProduct {
  float* c;
  const std::uint32_t *high_a, *low_a;
  std::uint32_t high_b[2], low_b[2];
};
void multiply_exact_of_warp(void* const* lanes, unsigned active);

inline void multiply_exact(float (&c)[4], const std::uint32_t (&high_a)[4],
                           const std::uint32_t (&low_a)[4], std::uint32_t high_b0,
                           std::uint32_t high_b1, std::uint32_t low_b0, std::uint32_t low_b1) {
  ExactProduct mine{c, high_a, low_a, {high_b0, high_b1}, {low_b0, low_b1}};
  on_cpu::meet(&mine, multiply_exact_of_warp);
}
inline void multiply_half(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                          std::uint32_t b1) {
  Product mine{c, a, {b0, b1}};
  on_cpu::meet(&mine, multiply_half_of_warp);
}

// ---- numbers

inline std::uint32_t pack(float first, float second) {
  return on_cpu::to_half(first) | static_cast<std::uint32_t>(on_cpu::to_half(second)) << 16;
}
inline float fast_square_root(float x) { return std::sqrt(x); }
inline float fast_tanh(float x) { return std::tanh(x); }

}  // namespace ovde::cuda
