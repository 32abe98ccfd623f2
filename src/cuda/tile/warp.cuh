// Sums and maxima over the lanes of a warp.
#pragma once

#include "base/lanes.h"
#include "cuda/tile/instructions.cuh"

namespace ovde::cuda {

// The sum over the lanes, in every lane.
__device__ inline float sum_of_warp(float x) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
  return x;
}

// The index of the largest value over the lanes; the smallest such index.
__device__ inline int index_of_largest(double value, int index) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    const double other = __shfl_xor_sync(~0u, value, offset);
    const int at = __shfl_xor_sync(~0u, index, offset);
    if (other > value || (other == value && at < index)) {
      value = other;
      index = at;
    }
  }
  return index;
}

// The interface of OneThread (base/lanes.h) for a warp. The bodies are for the device alone: the
// host only needs the declarations.
struct Warp {
  template <typename Work>
  OVDE_BOTH void each([[maybe_unused]] int n, [[maybe_unused]] const Work& work) const {
#ifdef OVDE_ON_DEVICE
    for (int i = threadIdx.x % 32; i < n; i += 32) work(i);
    __syncwarp();
#endif
  }

  template <typename Term>
  OVDE_BOTH double sum([[maybe_unused]] int n, [[maybe_unused]] const Term& term) const {
    double sum = 0;
#ifdef OVDE_ON_DEVICE
    for (int i = threadIdx.x % 32; i < n; i += 32) sum += term(i);
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
#endif
    return sum;
  }
};

}  // namespace ovde::cuda
