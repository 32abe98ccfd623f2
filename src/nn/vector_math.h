// Element-wise functions of vectors, from additions and multiplications only: the same bits
// whatever the mathematical library of the machine. A NaN stays one.
#pragma once

#include <cstdint>
#include <numbers>

#include "nn/simd.h"

namespace ovde {

typedef std::uint32_t WordVector
    __attribute__((vector_size(kVector * sizeof(std::uint32_t)), may_alias));

// Adding it leaves a float of ordinary size rounded to a whole number, in its lowest bits.
inline constexpr float kRounder = 12582912;  // 1.5 * 2^23

inline Vector relu(Vector x) {
  return reinterpret_cast<Vector>(reinterpret_cast<WordVector>(x) &
                                  ~reinterpret_cast<WordVector>(x < Vector{}));
}

inline Vector square_root(Vector x) {
  for (int i = 0; i < kVector; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
}

// e^x to two units in the last place; beyond +-87, where floats end, it stays at its last value.
inline Vector exponential(Vector x) {
  const Vector low = splat(-87), high = splat(87);
  x = x < low ? low : x;
  x = x > high ? high : x;

  // x = n log 2 + r with |r| <= log(2) / 2; log 2 in two parts, the first with room for n
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
