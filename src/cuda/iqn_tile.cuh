// What a tile has and does where its rows are fractions of samples: sums over the fractions of a
// sample and over the rows, and the fractions themselves. Knows nothing of the layers (iqn.cuh).
#pragma once

#include <type_traits>

#include "cuda/half_network.cuh"

namespace ovde::cuda {

// kExact: in fp32; else in fp16.
template <bool kExact, int kSize>
struct IqnTile : std::conditional_t<kExact, Tile<kSize>, HalfTile<kSize>> {
  static constexpr int kRows = Tile<kSize>::kRows;
  float part[2][kRows][4];              // of sum_rows
  float scale[kMostNormalised][kRows];  // 1 / sqrt(variance + epsilon) of each normalisation
  float tau[kRows], weight[kRows];      // the fractions
  float value[kRows], slope[kRows];     // z, and the gradient by it
  int sample[kRows], row[kRows];        // of the batch; where there is none, the tile's first
  // the layers' vectors and the output's weights, zero beyond their units
  float bias[kMostNormalised][kMostWidth], gain[kMostNormalised][kMostWidth],
      shift[kMostNormalised][kMostWidth], output[kMostWidth];
};

// Which samples and fractions the rows of a tile are: `count` samples from `first` on.
struct IqnRows {
  // The most samples that fit: their features are one tile of the tensor cores.
  template <int kSize>
  static __host__ __device__ int samples(int fractions) {
    const int fit = Tile<kSize>::kRows / fractions;
    return fit < 16 ? fit : 16;
  }

  __device__ bool has(int r) const { return r < count * fractions; }
  __device__ int sample(int r) const { return first + (has(r) ? r / fractions : 0); }
  __device__ int row(int r) const { return first * fractions + (has(r) ? r : 0); }

  int fractions, first, count;
  int tile = 0;  // which one of the batch
};

// ---- numbers

template <bool kExact>
__device__ float sigmoid(float x) {
  if constexpr (kExact) return 1.0f / (1.0f + expf(-x));
  float t;  // to the precision of fp16
  asm("tanh.approx.f32 %0, %1;" : "=f"(t) : "f"(0.5f * x));
  return __fmaf_rn(t, 0.5f, 0.5f);
}

// cos(pi j tau), j from 1 on
template <bool kExact>
__device__ float cosine(int j, float tau) {
  const float turns = __fmul_rn(static_cast<float>(j), tau);
  if constexpr (kExact) return cospif(turns);
  return __cosf(3.14159265f * __fmaf_rn(-2.0f, rintf(0.5f * turns), turns));
}

// Eight numbers of a row that is read or written once: past the first-level cache, which is small
// beside a tile and holds the vectors of the layers.
__device__ inline void stream8(float* to, const float (&v)[8]) {
  __stcg(reinterpret_cast<float4*>(to), make_float4(v[0], v[1], v[2], v[3]));
  __stcg(reinterpret_cast<float4*>(to) + 1, make_float4(v[4], v[5], v[6], v[7]));
}
__device__ inline void stream8(__half* to, const float (&v)[8]) {
  __stcg(reinterpret_cast<uint4*>(to), pack8(v));
}
// The same on their way from memory, not looked at yet.
struct Eight {
  float4 first, second;
};
__device__ inline Eight stream8(const float* from) {
  return {__ldcg(reinterpret_cast<const float4*>(from)),
          __ldcg(reinterpret_cast<const float4*>(from) + 1)};
}
__device__ inline uint4 stream8(const __half* from) {
  return __ldcg(reinterpret_cast<const uint4*>(from));
}
__device__ inline void unpack8(float (&v)[8], const Eight& from) {
  const auto& [a, b] = from;
  v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w, v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
}

// ---- sums

// From x to a row of `to` for each sample: the sums over its fractions. Every thread is done with x
// at the end.
template <bool kExact, int kSize>
__device__ void sum_fractions(const IqnTile<kExact, kSize>& tile, const IqnRows& rows, int units,
                              float* to) {
  __syncthreads();
  const int stride = stride_of_deltas(units), pairs = stride / 2;
  for (int e = threadIdx.x; e < rows.count * pairs; e += Tile<kSize>::kThreads) {
    const int s = e / pairs, column = e % pairs * 2;
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

// The fractions of agent/critic/iqn_critic.h, to the bit, from number(r), the U(0, 1) of row r; and
// the samples' inputs, value(s, i) for i < width, in the first rows of x, zero up to a multiple of
// 32 columns. Some threads do the one, some the other. Ends with every thread done.
template <bool kExact, int kSize, typename Number, typename Value>
__device__ void begin_rows(IqnTile<kExact, kSize>& tile, const IqnRows& rows, int width,
                           Number&& number, Value&& value) {
  constexpr int kRows = Tile<kSize>::kRows;
  const int r = threadIdx.x, n = rows.fractions;
  if (r < kRows) {
    tile.sample[r] = rows.sample(r);
    tile.row[r] = rows.row(r);
    if (rows.has(r)) tile.value[r] = number(r) + kNarrowest;
  } else {
    const int columns = multiple_of_32(width);
    for (int e = r - kRows; e < rows.count * columns; e += Tile<kSize>::kThreads - kRows) {
      const int s = e / columns, i = e % columns;
      const float x = i < width ? value(rows.first + s, i) : 0.0f;
      store(tile.x[s][i], x);
    }
  }
  __syncthreads();
  if (rows.has(r)) {
    const float* wide = tile.value + r / n * n;
    float total = 0, before = 0;
#pragma unroll 4
    for (int i = 0; i < n; ++i) total += wide[i];
    const float scale = n / total;
#pragma unroll 4
    for (int i = 0; i < r % n; ++i) before += __fmul_rn(wide[i], scale);
    const float weight = __fmul_rn(wide[r % n], scale);
    tile.weight[r] = weight;
    tile.tau[r] = (before + 0.5f * weight) * (1.0f / n);
  } else if (r < kRows) {
    tile.tau[r] = 0;
  }
  __syncthreads();
}

}  // namespace ovde::cuda
