// The vector type that the products are written in (GCC and clang vector extension: NEON, AVX,
// AVX-512 from one source) and the block sizes that fit its register file.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace ovde {

#if defined(__AVX512F__)
inline constexpr int kVector = 16;  // floats in a vector
inline constexpr int kVectorsPerBlock =
    2;  // a tile of 8 rows x 2 vectors keeps 16 of 32 registers busy
inline constexpr int kRows = 8;
#elif defined(__AVX__)
inline constexpr int kVector = 8;
inline constexpr int kVectorsPerBlock = 2;  // 4 x 2: 8 of 16 registers
inline constexpr int kRows = 4;
#else
inline constexpr int kVector = 4;
inline constexpr int kVectorsPerBlock = 4;  // 4 x 4: 16 of 32 registers
inline constexpr int kRows = 4;
#endif

// Samples in a block of a Batch: the lanes of the products run over samples.
inline constexpr int kLanes = kVector * kVectorsPerBlock;

typedef float Vector __attribute__((vector_size(kVector * sizeof(float)), may_alias));
typedef float Quad __attribute__((vector_size(16), may_alias, aligned(sizeof(float))));

inline Vector load(const float* p) { return *reinterpret_cast<const Vector*>(p); }
inline void store(float* p, Vector v) { *reinterpret_cast<Vector*>(p) = v; }
inline Vector splat(float x) { return x - Vector{}; }

// The smaller of two numbers; a NaN in either stays one, so that the checks of the losses see it.
inline Vector smaller(Vector a, Vector b) {
  const Vector least = a < b ? a : b;  // drops a NaN in `a`
  return a == a ? least : a;
}

// Sum over the lanes, always in the same order.
inline float sum_lanes(Vector v) {
  float half[kVector];
  __builtin_memcpy(half, &v, sizeof(half));
  for (int width = kVector / 2; width > 0; width /= 2) {
    for (int i = 0; i < width; ++i) half[i] += half[i + width];
  }
  return half[0];
}

// 4 x 4 transpose: dst[j][i] = src[i][j].
inline void transpose_quad(const float* src, int src_stride, float* dst, int dst_stride) {
  const auto at = [&](int i) { return *reinterpret_cast<const Quad*>(src + i * src_stride); };
  const Quad a = at(0), b = at(1), c = at(2), d = at(3);
  const Quad ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5),
             ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const Quad cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5),
             cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  const auto put = [&](int j, Quad q) { *reinterpret_cast<Quad*>(dst + j * dst_stride) = q; };
  put(0, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
  put(1, __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
  put(2, __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
  put(3, __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

constexpr int round_up(int n, int multiple) { return (n + multiple - 1) / multiple * multiple; }

template <typename T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <typename U>
  explicit AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* p, std::size_t) { ::operator delete (p, std::align_val_t{64}); }
  bool operator==(const AlignedAllocator&) const { return true; }
};

using Buffer = std::vector<float, AlignedAllocator<float>>;  // 64-byte aligned

}  // namespace ovde
