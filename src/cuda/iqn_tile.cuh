// What a tile has and does where its rows are fractions of samples: sums over the fractions of a
// sample, and the fractions themselves. Knows nothing of the layers (iqn.cuh).
#pragma once

#include "cuda/network.cuh"

namespace ovde::cuda {

template <int kSize>
struct IqnTile : Tile<kSize> {
  using Tile<kSize>::kRows;
  float part[2][kRows][4];              // of sum_rows
  float scale[kMostNormalised][kRows];  // 1 / sqrt(variance + epsilon) of each normalisation
  float tau[kRows], weight[kRows];      // the fractions
  float value[kRows], slope[kRows];     // z, and the gradient by it
};

// Which samples and fractions the rows of a tile are: `count` samples from `first` on.
struct IqnRows {
  __device__ bool has(int r) const { return r < count * fractions; }
  __device__ int sample(int r) const { return first + (has(r) ? r / fractions : 0); }
  __device__ int row(int r) const { return first * fractions + r; }  // of the whole batch

  int fractions, first, count;
};

__device__ inline float sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }

// Eight numbers of a row that is read or written once: past the first-level cache, which is small
// beside a tile and holds the vectors of the layers.
__device__ inline void stream8(float* to, const float (&v)[8]) {
  __stcg(reinterpret_cast<float4*>(to), make_float4(v[0], v[1], v[2], v[3]));
  __stcg(reinterpret_cast<float4*>(to) + 1, make_float4(v[4], v[5], v[6], v[7]));
}
__device__ inline void stream8(float (&v)[8], const float* from) {
  const float4 a = __ldcg(reinterpret_cast<const float4*>(from)),
               b = __ldcg(reinterpret_cast<const float4*>(from) + 1);
  v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w, v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
}

// From x to a row of `to` for each sample: the sums over its fractions. Every thread is done with x
// at the end.
template <int kSize>
__device__ void sum_fractions(const IqnTile<kSize>& tile, const IqnRows& rows, int units,
                              float* to) {
  __syncthreads();
  const int stride = stride_of_deltas(units);
  for (int e = threadIdx.x; e < rows.count * stride; e += Tile<kSize>::kThreads) {
    const int s = e / stride, column = e % stride;
    const float* from = &tile.x[s * rows.fractions][column];
    float sum = 0;
#pragma unroll 4
    for (int i = 0; i < rows.fractions; ++i) sum += from[i * kActivationStride];
    to[(rows.first + s) * stride + column] = sum;
  }
  __syncthreads();
}

// The fractions of agent/critic/iqn_critic.h, to the bit, from number(r), the U(0, 1) of row r.
// Ends with every thread done.
template <int kSize, typename Number>
__device__ void cut_interval(IqnTile<kSize>& tile, const IqnRows& rows, Number&& number) {
  const int r = threadIdx.x, n = rows.fractions;
  if (rows.has(r)) tile.value[r] = number(r) + kNarrowest;
  __syncthreads();
  if (rows.has(r)) {
    const float* wide = tile.value + r / n * n;
    float total = 0, before = 0;
    for (int i = 0; i < n; ++i) total += wide[i];
    const float scale = n / total;
    for (int i = 0; i < r % n; ++i) before += __fmul_rn(wide[i], scale);
    const float weight = __fmul_rn(wide[r % n], scale);
    tile.weight[r] = weight;
    tile.tau[r] = (before + 0.5f * weight) * (1.0f / n);
  } else if (r < Tile<kSize>::kRows) {
    tile.tau[r] = 0;
  }
  __syncthreads();
}

// x: the input of each sample, value(s, i), and zeros.
template <bool kExact, int kSize, typename Value>
__device__ void fill_samples(IqnTile<kSize>& tile, const IqnRows& rows, int stride, Value&& value) {
  fill<kExact>(tile, multiple_of_32(stride), [&](int r, int i) {
    return r < rows.count && i < stride ? value(rows.first + r, i) : 0.0f;
  });
}

}  // namespace ovde::cuda
