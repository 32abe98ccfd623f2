// The instructions of a warp in cuda/tile/instructions.cuh that load and multiply small matrices.
#include <bit>
#include <cstdint>
#include <cstring>

#include "cuda/tile/instructions.cuh"

namespace ovde::cuda {
namespace {

template <typename Part>
Part& part_of(void* const* lanes, int i) {
  return *static_cast<Part*>(lanes[i]);
}

// 16 x 8 numbers
using Row = float __attribute__((vector_size(32)));
struct Sums {
  Row row[16];
};

// a (16 x kTerms) b (kTerms x 8), the operands as floats.
template <int kTerms>
Sums product(const float (&a)[16][kTerms], const float (&b)[kTerms][8]) {
  Row sum[16] = {}, of_b;
  for (int k = 0; k < kTerms; ++k) {
    std::memcpy(&of_b, b[k], sizeof of_b);
#pragma GCC unroll 16
    for (int row = 0; row < 16; ++row) sum[row] += a[row][k] * of_b;
  }
  Sums sums;
  std::memcpy(sums.row, sum, sizeof sum);
  return sums;
}

// c (16 x 8) += sums
template <typename Part>
void add(void* const* lanes, const Sums& sums) {
  float at[16][8];
  std::memcpy(at, sums.row, sizeof at);
  for (int i = 0; i < on_cpu::kLanes; ++i) {
    float* c = part_of<Part>(lanes, i).c;
    for (int j = 0; j < 4; ++j) c[j] += at[i / 4 + j / 2 * 8][i % 4 * 2 + j % 2];
  }
}

// The tensor cores read 10 bits of the mantissa.
float number(std::uint32_t bits) { return std::bit_cast<float>(bits & ~0x1fffu); }

// Lane i's numbers of a (16 x 8) and b (8 x 8).
void put_a(float (&a)[16][8], int i, const std::uint32_t* from) {
  for (int j = 0; j < 4; ++j) a[i / 4 + j % 2 * 8][i % 4 + j / 2 * 4] = number(from[j]);
}
void put_b(float (&b)[8][8], int i, const std::uint32_t* from) {
  for (int j = 0; j < 2; ++j) b[i % 4 + j * 4][i / 4] = number(from[j]);
}

template <int kRows, int kColumns>
void to_floats(const std::uint16_t (&half)[kRows][kColumns], float (&x)[kRows][kColumns]) {
  const std::uint16_t* from = half[0];
  float* to = x[0];
  for (int i = 0; i < kRows * kColumns; ++i) to[i] = on_cpu::to_float(from[i]);
}

}  // namespace

void load_blocks_of_warp(void* const* lanes, unsigned) {
  for (int i = 0; i < on_cpu::kLanes; ++i) {
    for (int block = 0; block < 4; ++block) {
      const auto* row =
          static_cast<const std::uint32_t*>(part_of<Load>(lanes, 8 * block + i / 4).row);
      part_of<Load>(lanes, i).to[block] = row[i % 4];
    }
  }
}

void load_transposed_of_warp(void* const* lanes, unsigned) {
  for (int i = 0; i < on_cpu::kLanes; ++i) {
    for (int block = 0; block < 4; ++block) {
      const auto at = [&](int row, int column) {
        return static_cast<const std::uint16_t*>(part_of<Load>(lanes, 8 * block + row).row)[column];
      };
      const std::uint32_t low = at(i % 4 * 2, i / 4), high = at(i % 4 * 2 + 1, i / 4);
      part_of<Load>(lanes, i).to[block] = low | high << 16;
    }
  }
}

void multiply_of_warp(void* const* lanes, unsigned) {
  float a[16][8], b[8][8];
  for (int i = 0; i < on_cpu::kLanes; ++i) {
    const Product& part = part_of<Product>(lanes, i);
    put_a(a, i, part.a);
    put_b(b, i, part.b);
  }
  add<Product>(lanes, product(a, b));
}

void multiply_exact_of_warp(void* const* lanes, unsigned) {
  float high_a[16][8], low_a[16][8], high_b[8][8], low_b[8][8];
  for (int i = 0; i < on_cpu::kLanes; ++i) {
    const ExactProduct& part = part_of<ExactProduct>(lanes, i);
    put_a(high_a, i, part.high_a);
    put_a(low_a, i, part.low_a);
    put_b(high_b, i, part.high_b);
    put_b(low_b, i, part.low_b);
  }
  Sums sums = product(low_a, high_b);
  const Sums others[] = {product(high_a, low_b), product(high_a, high_b)};
  for (const Sums& other : others) {
    for (int row = 0; row < 16; ++row) sums.row[row] += other.row[row];
  }
  add<ExactProduct>(lanes, sums);
}

void multiply_half_of_warp(void* const* lanes, unsigned) {
  std::uint16_t half_a[16][16], half_b[16][8];
  for (int i = 0; i < on_cpu::kLanes; ++i) {
    const Product& part = part_of<Product>(lanes, i);
    for (int h = 0; h < 2; ++h) {
      const auto half = [h](std::uint32_t pair) {
        return static_cast<std::uint16_t>(pair >> (16 * h));
      };
      for (int j = 0; j < 4; ++j)
        half_a[i / 4 + j % 2 * 8][i % 4 * 2 + h + j / 2 * 8] = half(part.a[j]);
      for (int j = 0; j < 2; ++j) half_b[i % 4 * 2 + h + j * 8][i / 4] = half(part.b[j]);
    }
  }
  float a[16][16], b[16][8];
  to_floats(half_a, a);
  to_floats(half_b, b);
  add<Product>(lanes, product(a, b));
}

}  // namespace ovde::cuda
