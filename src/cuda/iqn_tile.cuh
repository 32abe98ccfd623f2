// What a tile has and does where its rows are fractions of samples: sums over rows and over
// fractions, normalisation backward, fractions. Knows nothing of the layers (iqn.cuh).
#pragma once

#include "cuda/network.cuh"

namespace ovde::cuda {

template <int kSize>
struct IqnTile : Tile<kSize> {
  using Tile<kSize>::kRows;
  float part[2][kRows][4];              // sums over the columns of each of four warps
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

// Eight neighbours of a vector that has a number for each unit of a layer; zero beyond it.
__device__ inline void load_units(float (&v)[8], const float* vector, int column, int units) {
  if (column < stride_of_deltas(units)) {
    load8(v, vector + column);
  } else {
#pragma unroll
    for (float& x : v) x = 0;
  }
}

// The octets of a product that this lane has in 32 neighbouring columns: all in the same eight.
template <int kSize>
class OctetGroup {
 public:
  __device__ explicit OctetGroup(int group)
      : column(Octet<kSize>(0, 0, group).column), group_(group) {}

  // visit(octet, m, half)
  template <typename Visit>
  __device__ void each(Visit&& visit) const {
#pragma unroll
    for (int m = 0; m < Tile<kSize>::kTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) visit(Octet<kSize>(m, half, group_), m, half);
  }
  // The same, leaving out what lies beyond the first `rows` rows.
  template <typename Visit>
  __device__ void each_below(int rows, Visit&& visit) const {
#pragma unroll
    for (int m = 0; m < Tile<kSize>::kTiles; ++m) {
      if (Octet<kSize>(m, 0, group_).row - threadIdx.x % 32 / 4 >= rows) continue;
#pragma unroll
      for (int half = 0; half < 2; ++half) visit(Octet<kSize>(m, half, group_), m, half);
    }
  }
  // load(octet, half) for both halves, then visit(octet, m, half): one waits for memory once.
  template <typename Load, typename Visit>
  __device__ void each(Load&& load, Visit&& visit) const {
#pragma unroll
    for (int m = 0; m < Tile<kSize>::kTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) load(Octet<kSize>(m, half, group_), half);
#pragma unroll
      for (int half = 0; half < 2; ++half) visit(Octet<kSize>(m, half, group_), m, half);
    }
  }
  int column;

 private:
  int group_;
};

template <int kSize, typename Visit>
__device__ void for_each_group(Visit&& visit) {
#pragma unroll
  for (int group = 0; group < 2; ++group) visit(OctetGroup<kSize>(group));
}

// visit(row, m, half) for each row of a product of which this lane has a part; `first` is true of
// one lane of those that share the row.
template <int kSize, typename Visit>
__device__ void for_each_product_row(Visit&& visit) {
  const bool first = threadIdx.x % 4 == 0 && threadIdx.x / 32 % 4 == 0;
#pragma unroll
  for (int m = 0; m < Tile<kSize>::kTiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) visit(Octet<kSize>(m, half, 0).row, m, half, first);
}

// From what each lane has of its rows to the sums over the whole rows, in a fixed order.
template <int kCount, int kSize>
__device__ void sum_rows(IqnTile<kSize>& tile, float (&sums)[kCount][Tile<kSize>::kTiles][2]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  __syncthreads();  // the last sums have been read
  for_each_product_row<kSize>([&](int row, int m, int half, bool) {
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      float sum = sums[c][m][half];
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      if (lane % 4 == 0) tile.part[c][row][warp % 4] = sum;
    }
  });
  __syncthreads();
  for_each_product_row<kSize>([&](int row, int m, int half, bool) {
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      const float4 p = *reinterpret_cast<const float4*>(tile.part[c][row]);
      sums[c][m][half] = p.x + p.y + p.z + p.w;
    }
  });
}

// The way back through a normalisation n = (x - mean) * scale: dx = scale * (dn - mean(dn) - n *
// mean(dn * n)). First add() of every dn, then finish(), then dx() of each.
template <int kSize>
class NormGradient {
 public:
  __device__ void add(int m, int half, float dn, float n) {
    sums_[0][m][half] += dn;
    sums_[1][m][half] += dn * n;
  }
  __device__ void finish(IqnTile<kSize>& tile, int units, const float* scale) {
    sum_rows(tile, sums_);
    const float share = 1.0f / units;
    for_each_product_row<kSize>([&](int row, int m, int half, bool) {
      sums_[0][m][half] *= share;
      sums_[1][m][half] *= share;
      scale_[m][half] = scale[row];
    });
  }
  __device__ float dx(int m, int half, float dn, float n) const {
    return scale_[m][half] * (dn - sums_[0][m][half] - n * sums_[1][m][half]);
  }

 private:
  float sums_[2][Tile<kSize>::kTiles][2] = {};
  float scale_[Tile<kSize>::kTiles][2];
};

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
