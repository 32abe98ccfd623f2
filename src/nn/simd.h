// The SIMD vector type of products and element-wise functions (GCC and clang vector extension:
// NEON, AVX, AVX-512 from one source), the block sizes that fit its registers, and functions of
// vectors. These use additions and multiplications only, so that their bits do not depend on the
// machine's mathematical library. They propagate NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <numbers>
#include <utility>
#include <vector>

namespace ovde {

#if defined(__AVX512F__)
inline constexpr int kVector = 16;          // floats in a vector
inline constexpr int kVectorsPerBlock = 2;  // a tile of 8 rows x 2 vectors: 16 of 32 registers
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

// Zeroed memory, aligned to 64 bytes. Pages that are never written, such as those for updates of an
// agent that trains on a GPU, take neither time nor memory.
template <typename T>
struct ZeroedAllocator {
  static constexpr std::size_t kAlignment = 64;
  using value_type = T;
  ZeroedAllocator() = default;
  template <typename U>
  explicit ZeroedAllocator(const ZeroedAllocator<U>&) {}
  T* allocate(std::size_t n) {
    void* const memory = std::calloc(n * sizeof(T) + kAlignment, 1);
    if (memory == nullptr) throw std::bad_alloc();
    // calloc() aligns to 16, so there is space for the pointer before the aligned address
    void** const first = reinterpret_cast<void**>(
        (reinterpret_cast<std::uintptr_t>(memory) / kAlignment + 1) * kAlignment);
    first[-1] = memory;
    return reinterpret_cast<T*>(first);
  }
  void deallocate(T* p, std::size_t) { std::free(reinterpret_cast<void**>(p)[-1]); }
  void construct(T*) {}  // zero already
  template <typename... Arguments>
  void construct(T* p, Arguments&&... arguments) {
    std::construct_at(p, std::forward<Arguments>(arguments)...);
  }
  bool operator==(const ZeroedAllocator&) const { return true; }
};

// New elements are zero; must not shrink, since elements that grow back would keep old values.
using Buffer = std::vector<float, ZeroedAllocator<float>>;

// ---- element-wise functions

typedef std::uint32_t WordVector
    __attribute__((vector_size(kVector * sizeof(std::uint32_t)), may_alias));

// Adding and subtracting it rounds a float to a whole number.
inline constexpr float kRounder = 12582912;  // 1.5 * 2^23

inline Vector relu(Vector x) {
  return reinterpret_cast<Vector>(reinterpret_cast<WordVector>(x) &
                                  ~reinterpret_cast<WordVector>(x < Vector{}));
}

inline Vector square_root(Vector x) {
  for (int i = 0; i < kVector; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
}

// e^x to two units in the last place; x is clamped to +-87.
inline Vector exponential(Vector x) {
  const Vector low = splat(-87), high = splat(87);
  x = x < low ? low : x;
  x = x > high ? high : x;

  // x = n log 2 + r with |r| <= log(2) / 2; log 2 in two parts, so that n times the first is exact
  const Vector shifted = x * std::numbers::log2e_v<float> + kRounder;
  const Vector n = shifted - kRounder;
  const Vector r = (x - n * 0.693359375f) + n * 2.12194440e-4f;

  // Taylor's series of e^r, then n added to the exponent
  Vector sum = splat(1.0f / 5040);
  sum = sum * r + 1.0f / 720;
  sum = sum * r + 1.0f / 120;
  sum = sum * r + 1.0f / 24;
  sum = sum * r + 1.0f / 6;
  sum = sum * r + 0.5f;
  sum = sum * r + 1.0f;
  sum = sum * r + 1.0f;
  return reinterpret_cast<Vector>(reinterpret_cast<WordVector>(sum) +
                                  (reinterpret_cast<WordVector>(shifted) << 23));
}

inline Vector sigmoid(Vector x) { return 1.0f / (1.0f + exponential(-x)); }

// cos(pi x) for |x| up to some thousands; the error is that of x itself.
inline Vector cosine_pi(Vector x) {
  // the distance to the nearest even number; then cos(pi r) = sin(pi (1/2 - r))
  Vector r = x - 2.0f * ((x * 0.5f + kRounder) - kRounder);
  r = r < Vector{} ? -r : r;
  const Vector y = std::numbers::pi_v<float> * (0.5f - r);

  // Taylor's series of the sine, |y| <= pi / 2
  const Vector y2 = y * y;
  Vector sum = splat(-1.0f / 39916800);
  sum = sum * y2 + 1.0f / 362880;
  sum = sum * y2 - 1.0f / 5040;
  sum = sum * y2 + 1.0f / 120;
  sum = sum * y2 - 1.0f / 6;
  return y + y * (y2 * sum);
}

}  // namespace ovde
