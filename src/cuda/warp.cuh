#pragma once

namespace ovde::cuda {

// Of what the lanes have, in every lane.
__device__ inline float sum_of_warp(float x) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
  return x;
}

}  // namespace ovde::cuda
