// Tiles whose rows are fractions of samples: the fractions, and sums over the fractions of a
// sample. Knows nothing of the layers (iqn_network.cuh).
#pragma once

#include <type_traits>

#include "cuda/tile/network.cuh"

namespace ovde::cuda {

// kExact: in fp32, otherwise in fp16.
template <bool kExact, int kSize>
struct IqnTile : std::conditional_t<kExact, Tile<kSize>, HalfTile<kSize>> {
  static constexpr int kRows = Tile<kSize>::kRows;
  float part[2][kRows][4];                      // for sum_rows()
  float gate_scale[kRows], merge_scale[kRows];  // 1 / sqrt(variance + epsilon)
  float tau[kRows], weight[kRows];              // fractions and their weights
  float value[kRows], slope[kRows];             // z, and the gradient by it
  int sample[kRows];  // number in the batch; the tile's first where a row has none
  // the layers' vectors and the output's weights, zero beyond their units
  float bias[kMostNormalised][kMostWidth], gain[kMostNormalised][kMostWidth],
      shift[kMostNormalised][kMostWidth], output[kMostWidth];
};
static_assert(sizeof(IqnTile<false, 2>) <= kLeastShared);

// The rows of a tile: all fractions of `count` samples from `first` on.
struct IqnRows {
  // The number of samples that fit.
  template <int kSize>
  static __host__ __device__ int samples(int fractions) {
    return Tile<kSize>::kRows / fractions;
  }

  __device__ bool has(int r) const { return r < count * fractions; }
  __device__ int sample(int r) const { return first + (has(r) ? r / fractions : 0); }
  __device__ int row(int r) const { return first * fractions + (has(r) ? r : 0); }

  int fractions, first, count;
  int tile = 0;  // its number
};

// ---- numbers

template <bool kExact>
__device__ float sigmoid(float x) {
  if constexpr (kExact) return 1.0f / (1.0f + expf(-x));
  return __fmaf_rn(fast_tanh(0.5f * x), 0.5f, 0.5f);
}

// cos(pi j tau), j from 1 on
template <bool kExact>
__device__ float cosine(int j, float tau) {
  const float turns = __fmul_rn(static_cast<float>(j), tau);
  if constexpr (kExact) return cospif(turns);
  return __cosf(3.14159265f * __fmaf_rn(-2.0f, rintf(0.5f * turns), turns));
}

// Writes eight numbers of a row past the first-level cache, which holds the features.
__device__ inline void stream8(float* to, const float (&v)[8]) {
  __stcg(reinterpret_cast<float4*>(to), make_float4(v[0], v[1], v[2], v[3]));
  __stcg(reinterpret_cast<float4*>(to) + 1, make_float4(v[4], v[5], v[6], v[7]));
}
__device__ inline void stream8(__half* to, const float (&v)[8]) {
  __stcg(reinterpret_cast<uint4*>(to), pack8(v));
}

// ---- sums

// Writes to a row of `to` for each sample the sums of x over its fractions. Ends with a barrier.
template <bool kExact, int kSize>
__device__ void sum_fractions(const IqnTile<kExact, kSize>& tile, const IqnRows& rows, int units,
                              float* to) {
  __syncthreads();
  constexpr int kPairs = kMostWidth / 2;
  const int stride = stride_of_deltas(units), column = threadIdx.x % kPairs * 2;
  for (int s = threadIdx.x / kPairs; s < rows.count && column < stride;
       s += Tile<kSize>::kThreads / kPairs) {
    float2 sum = {0, 0};
#pragma unroll 4
    for (int i = 0; i < rows.fractions; ++i) {
      const auto* from = &tile.x[s * rows.fractions + i][column];
      float2 both;
      if constexpr (kExact) {
        both = *reinterpret_cast<const float2*>(from);
      } else {
        both = __half22float2(*reinterpret_cast<const __half2*>(from));
      }
      sum.x += both.x;
      sum.y += both.y;
    }
    *reinterpret_cast<float2*>(to + (rows.first + s) * stride + column) = sum;
  }
  __syncthreads();
}

// ---- fractions

// The fractions of agent/critic/iqn_critic.h, bit-identical: `count` of them, n for each sample,
// from number(r), the U(0, 1) of each. Calls give(r, fraction, weight) for each. `memory` holds
// `count` numbers.
template <typename Number, typename Give>
__device__ void draw_fractions(float* memory, int count, int n, Number&& number, Give&& give) {
  for (int r = threadIdx.x; r < count; r += blockDim.x) memory[r] = number(r) + kNarrowest;
  __syncthreads();
  for (int r = threadIdx.x; r < count; r += blockDim.x) {
    const float* wide = memory + r / n * n;
    float total = 0, before = 0;
#pragma unroll 4
    for (int i = 0; i < n; ++i) total += wide[i];
    const float scale = n / total;
#pragma unroll 4
    for (int i = 0; i < r % n; ++i) before += __fmul_rn(wide[i], scale);
    const float weight = __fmul_rn(wide[r % n], scale);
    give(r, (before + 0.5f * weight) * (1.0f / n), weight);
  }
}

// Sets the sample and the fraction, fraction(r), of each row of a tile.
template <bool kExact, int kSize, typename Fraction>
__device__ void set_rows(IqnTile<kExact, kSize>& tile, const IqnRows& rows, Fraction&& fraction) {
  if (const int r = threadIdx.x; r < Tile<kSize>::kRows) {
    tile.sample[r] = rows.sample(r);
    tile.tau[r] = rows.has(r) ? fraction(r) : 0.0f;
  }
  __syncthreads();
}

}  // namespace ovde::cuda
