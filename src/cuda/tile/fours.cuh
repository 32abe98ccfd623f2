// Numbers in fours, as kernels read and write them: fp32 or fp16 in memory, fp32 in registers.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "nn/equations.h"

namespace ovde::cuda {

struct alignas(8) FourHalves {
  __half2 low, high;
};
template <typename T>
struct FourOf {
  using Type = float4;
};
template <>
struct FourOf<__half> {
  using Type = FourHalves;
};

__device__ inline float4 all_four(float x) { return make_float4(x, x, x, x); }
__device__ inline float4 operator+(float4 a, float4 b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__device__ inline float4 operator-(float4 a, float4 b) {
  return make_float4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w);
}
__device__ inline float4 operator*(float4 a, float4 b) {
  return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w);
}
__device__ inline float4 operator*(float s, float4 a) { return all_four(s) * a; }
__device__ inline float4 relu_four(float4 a) {
  return make_float4(relu(a.x), relu(a.y), relu(a.z), relu(a.w));
}
// Calls visit(x, ...) with the first number of each, then with the second, ...
template <typename Visit, typename... Four>
__device__ void for_each_of_four(const Visit& visit, Four&... four) {
  visit(four.x...);
  visit(four.y...);
  visit(four.z...);
  visit(four.w...);
}
__device__ inline float sum_of_four(float4 a) { return a.x + a.y + a.z + a.w; }

__device__ inline float4 unpacked(float4 x) { return x; }
__device__ inline float4 unpacked(FourHalves x) {
  const float2 low = __half22float2(x.low), high = __half22float2(x.high);
  return make_float4(low.x, low.y, high.x, high.y);
}

// The four numbers from x[0] on, which must be aligned to them.
template <typename T>
__device__ typename FourOf<T>::Type packed_four(const T* x) {
  return *reinterpret_cast<const typename FourOf<T>::Type*>(x);
}
template <typename T>
__device__ float4 load_four(const T* x) {
  return unpacked(packed_four(x));
}
__device__ inline void store_four(float* x, float4 v) { *reinterpret_cast<float4*>(x) = v; }
__device__ inline void store_four(__half* x, float4 v) {
  *reinterpret_cast<FourHalves*>(x) = {__float22half2_rn(make_float2(v.x, v.y)),
                                       __float22half2_rn(make_float2(v.z, v.w))};
}
// The first `count` of them, which may be more than four or less than one.
__device__ inline void store_first(float* x, float4 v, int count) {
  if (count > 0) x[0] = v.x;
  if (count > 1) x[1] = v.y;
  if (count > 2) x[2] = v.z;
  if (count > 3) x[3] = v.w;
}

}  // namespace ovde::cuda
