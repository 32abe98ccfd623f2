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

struct Load {
  const void* row;
  std::uint32_t* to;
};

inline void load_blocks(std::uint32_t (&r)[4], const float* from) {
  Load mine{from, r};
  on_cpu::together(mine, [](Load* const* lane, unsigned) {
    for (int i = 0; i < on_cpu::kLanes; ++i) {
      for (int block = 0; block < 4; ++block) {
        const auto* row = static_cast<const std::uint32_t*>(lane[8 * block + i / 4]->row);
        lane[i]->to[block] = row[i % 4];
      }
    }
  });
}
inline void load_transposed(std::uint32_t (&r)[4], const void* from) {
  Load mine{from, r};
  on_cpu::together(mine, [](Load* const* lane, unsigned) {
    for (int i = 0; i < on_cpu::kLanes; ++i) {
      for (int block = 0; block < 4; ++block) {
        const auto at = [&](int row, int column) {
          return static_cast<const std::uint16_t*>(lane[8 * block + row]->row)[column];
        };
        const std::uint32_t low = at(i % 4 * 2, i / 4), high = at(i % 4 * 2 + 1, i / 4);
        lane[i]->to[block] = low | high << 16;
      }
    }
  });
}

struct Product {
  float* c;
  const std::uint32_t* a;
  std::uint32_t b[2];
};

// c (16 x 8) += a (16 x kTerms) b (kTerms x 8), the operands as floats.
template <int kTerms>
inline void add_product(Product* const* lane, const float (&a)[16][kTerms],
                        const float (&b)[kTerms][8]) {
  for (int row = 0; row < 16; ++row) {
    float sum[8] = {};
    for (int k = 0; k < kTerms; ++k) {
      for (int column = 0; column < 8; ++column) sum[column] += a[row][k] * b[k][column];
    }
    for (int column = 0; column < 8; ++column)
      lane[row % 8 * 4 + column / 2]->c[row / 8 * 2 + column % 2] += sum[column];
  }
}

inline void multiply(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                     std::uint32_t b1) {
  Product mine{c, a, {b0, b1}};
  on_cpu::together(mine, [](Product* const* lane, unsigned) {
    // the tensor cores read 10 bits of the mantissa
    const auto number = [](std::uint32_t bits) { return std::bit_cast<float>(bits & ~0x1fffu); };
    float a[16][8], b[8][8];
    for (int i = 0; i < on_cpu::kLanes; ++i) {
      for (int j = 0; j < 4; ++j) a[i / 4 + j % 2 * 8][i % 4 + j / 2 * 4] = number(lane[i]->a[j]);
      for (int j = 0; j < 2; ++j) b[i % 4 + j * 4][i / 4] = number(lane[i]->b[j]);
    }
    add_product(lane, a, b);
  });
}
inline void multiply_half(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                          std::uint32_t b1) {
  Product mine{c, a, {b0, b1}};
  on_cpu::together(mine, [](Product* const* lane, unsigned) {
    const auto number = [](std::uint32_t pair, int which) {
      return on_cpu::to_float(static_cast<std::uint16_t>(pair >> (16 * which)));
    };
    float a[16][16], b[16][8];
    for (int i = 0; i < on_cpu::kLanes; ++i) {
      for (int h = 0; h < 2; ++h) {
        for (int j = 0; j < 4; ++j)
          a[i / 4 + j % 2 * 8][i % 4 * 2 + h + j / 2 * 8] = number(lane[i]->a[j], h);
        for (int j = 0; j < 2; ++j) b[i % 4 * 2 + h + j * 8][i / 4] = number(lane[i]->b[j], h);
      }
    }
    add_product(lane, a, b);
  });
}

// ---- numbers

inline std::uint32_t pack(float first, float second) {
  return on_cpu::to_half(first) | static_cast<std::uint32_t>(on_cpu::to_half(second)) << 16;
}
inline float fast_square_root(float x) { return std::sqrt(x); }
inline float fast_tanh(float x) { return std::tanh(x); }

}  // namespace ovde::cuda
