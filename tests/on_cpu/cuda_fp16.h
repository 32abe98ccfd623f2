// CUDA's fp16 numbers on a CPU.
#pragma once

#include <algorithm>

#include "cuda_runtime.h"

struct __half {
  std::uint16_t bits;
};
struct __half2 {
  __half x, y;
};

namespace on_cpu {

inline float to_float(std::uint16_t half) {
  // without branches, so that loops of it become vector instructions
  const std::uint32_t sign = half & 0x8000u, size = half & 0x7fffu;
  const float small = static_cast<float>(static_cast<int>(size)) * 0x1p-24f;  // no exponent
  const std::uint32_t shifted = (size << 13) + (size < 0x7c00 ? 112u << 23 : 224u << 23),
                      bits = size < 0x400 ? std::bit_cast<std::uint32_t>(small) : shifted;
  return std::bit_cast<float>(sign << 16 | bits);
}

// Rounds to the nearest, ties to even; clamps to the largest number; NaN stays NaN.
inline std::uint16_t to_half(float x) {
  const auto sign = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16 & 0x8000u);
  if (x != x) return static_cast<std::uint16_t>(sign | 0x7fffu);
  const float size = std::abs(x);
  if (size >= 65504) return static_cast<std::uint16_t>(sign | 0x7bffu);
  if (size < 0x1p-14f)
    return static_cast<std::uint16_t>(sign | static_cast<int>(std::nearbyint(size * 0x1p24f)));
  const auto bits = std::bit_cast<std::uint32_t>(size);
  const std::uint32_t rounded = bits + 0xfffu + (bits >> 13 & 1);
  return static_cast<std::uint16_t>(sign | std::min((rounded >> 13) - (112u << 10), 0x7bffu));
}

}  // namespace on_cpu

inline __half __ushort_as_half(unsigned short bits) { return {bits}; }
inline float2 __half22float2(__half2 x) {
  return {on_cpu::to_float(x.x.bits), on_cpu::to_float(x.y.bits)};
}
inline __half __float2half_rn(float x) { return {on_cpu::to_half(x)}; }
inline __half2 __float22half2_rn(float2 x) { return {__float2half_rn(x.x), __float2half_rn(x.y)}; }
