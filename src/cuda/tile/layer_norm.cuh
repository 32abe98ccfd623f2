// Layer normalisation of a tile's rows (nn/norm.h), forward and backward, and its sums over rows.
#pragma once

#include "cuda/tile/product.cuh"

namespace ovde::cuda {

// Eight adjacent numbers of a vector with one for each unit of a layer; zero beyond it.
__device__ inline void load_units(float (&v)[8], const float* vector, int column, int units) {
  if (column < stride_of_deltas(units)) {
    load8(v, vector + column);
  } else {
#pragma unroll
    for (float& x : v) x = 0;
  }
}

// Gain and shift of eight units.
struct Affine {
  // From vectors of kMostWidth numbers.
  __device__ Affine(const float* gains, const float* shifts, int column) {
    load8(gain, gains + column);
    load8(shift, shifts + column);
  }
  __device__ float operator()(int i, float n) const { return n * gain[i] + shift[i]; }
  float gain[8], shift[8];
};

// The octets of a lane in a group of 32 columns, all of the same eight columns.
template <int kSize>
struct OctetGroup {
  __device__ explicit OctetGroup(int group)
      : column(Octet<kSize>(0, 0, group).column), number(group) {}

  // Calls visit(octet, m, half).
  template <typename Visit>
  __device__ void each(Visit&& visit) const {
#pragma unroll
    for (int m = 0; m < Tile<kSize>::kTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) visit(Octet<kSize>(m, half, number), m, half);
  }
  // The same for the first `rows` rows.
  template <typename Visit>
  __device__ void each_below(int rows, Visit&& visit) const {
#pragma unroll
    for (int m = 0; m < Tile<kSize>::kTiles; ++m) {
      if (Octet<kSize>(m, 0, number).row - threadIdx.x % 32 / 4 >= rows) continue;
#pragma unroll
      for (int half = 0; half < 2; ++half) visit(Octet<kSize>(m, half, number), m, half);
    }
  }
  // Calls load(octet, half) for both halves, then visit(octet, m, half): both loads are in flight.
  template <typename Load, typename Visit>
  __device__ void each(Load&& load, Visit&& visit) const {
#pragma unroll
    for (int m = 0; m < Tile<kSize>::kTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) load(Octet<kSize>(m, half, number), half);
#pragma unroll
      for (int half = 0; half < 2; ++half) visit(Octet<kSize>(m, half, number), m, half);
    }
  }
  int column, number;
};

template <int kSize, typename Visit>
__device__ void for_each_group(Visit&& visit) {
#pragma unroll
  for (int group = 0; group < 2; ++group) visit(OctetGroup<kSize>(group));
}

// Adds a vector of kMostWidth numbers to each row of a product.
template <int kSize>
__device__ void add_bias(const float* bias, float (&out)[Tile<kSize>::kTiles][8][4]) {
  for_each_group<kSize>([&](const auto& group) {
    float b[8];
    load8(b, bias + group.column);
    group.each([&](const auto& at, int m, int) {
#pragma unroll
      for (int i = 0; i < 8; ++i) at(out[m], i) += b[i];
    });
  });
}

// Calls visit(row, m, half, first) for each row of which this lane has a part; `first` is true in
// one of the lanes that share the row.
template <int kSize, typename Visit>
__device__ void for_each_product_row(Visit&& visit) {
  const bool first = threadIdx.x % 4 == 0 && threadIdx.x / 32 % 4 == 0;
#pragma unroll
  for (int m = 0; m < Tile<kSize>::kTiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) visit(Octet<kSize>(m, half, 0).row, m, half, first);
}

// Replaces each lane's parts of its rows by the sums over the whole rows, in a fixed order. `part`
// holds the sums of four warps, for kTogether sums at a time.
template <int kSize, int kTogether, int kCount>
__device__ void sum_rows(float (&part)[kTogether][Tile<kSize>::kRows][4],
                         float (&sums)[kCount][Tile<kSize>::kTiles][2]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int first = 0; first < kCount; first += kTogether) {
    __syncthreads();  // `part` has been read
    for_each_product_row<kSize>([&](int row, int m, int half, bool) {
#pragma unroll
      for (int c = 0; c < kTogether && first + c < kCount; ++c) {
        float sum = sums[first + c][m][half];
        sum += __shfl_xor_sync(~0u, sum, 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        if (lane % 4 == 0) part[c][row][warp % 4] = sum;
      }
    });
    __syncthreads();
    for_each_product_row<kSize>([&](int row, int m, int half, bool) {
#pragma unroll
      for (int c = 0; c < kTogether && first + c < kCount; ++c) {
        const float4 p = *reinterpret_cast<const float4*>(part[c][row]);
        sums[first + c][m][half] = p.x + p.y + p.z + p.w;
      }
    });
  }
}

// normalise() in fp32.
template <int kSize, typename T, typename Keep>
__device__ void normalise_by_deviations(T& tile, const float* bias, int units, int rows,
                                        float (&out)[Tile<kSize>::kTiles][8][4], Keep&& keep) {
  constexpr int kTiles = Tile<kSize>::kTiles;
  const float share = 1.0f / units;
  float mean[1][kTiles][2] = {}, squares[1][kTiles][2] = {};
  for_each_group<kSize>([&](const auto& group) {
    float b[8];
    load_units(b, bias, group.column, units);
    group.each_below(rows, [&](const auto& at, int m, int half) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        at(out[m], i) += b[i];  // beyond the layer: zero
        mean[0][m][half] += at(out[m], i);
      }
    });
  });
  sum_rows<kSize>(tile.part, mean);
  for_each_group<kSize>([&](const auto& group) {
    group.each_below(rows, [&](const auto& at, int m, int half) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float deviation =
            at.column + i < units ? at(out[m], i) - mean[0][m][half] * share : 0.0f;
        at(out[m], i) = deviation;
        squares[0][m][half] += deviation * deviation;
      }
    });
  });
  sum_rows<kSize>(tile.part, squares);
  for_each_product_row<kSize>([&](int row, int m, int half, bool first) {
    float& scale = squares[0][m][half];
    scale = 1.0f / sqrtf(scale * share + kNormEpsilon);
    if (first) keep(row, scale);
  });
  for_each_group<kSize>([&](const auto& group) {
    group.each_below(rows, [&](const auto& at, int m, int half) {
#pragma unroll
      for (int i = 0; i < 8; ++i) at(out[m], i) *= squares[0][m][half];
    });
  });
}

// normalise() in fp16, after the bias, from the sums of the numbers and of their squares: one round
// of sums, accurate where the mean is not large compared with the deviation. Numbers beyond the
// layer's units do not become zero.
template <int kSize, typename T, typename Keep>
__device__ void normalise_by_moments(T& tile, int units, float (&out)[Tile<kSize>::kTiles][8][4],
                                     Keep&& keep) {
  const float share = 1.0f / units;
  float sums[2][Tile<kSize>::kTiles][2] = {};
  for_each_group<kSize>([&](const auto& group) {
    group.each([&](const auto& at, int m, int half) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float x = at(out[m], i);
        sums[0][m][half] += x;
        sums[1][m][half] = __fmaf_rn(x, x, sums[1][m][half]);
      }
    });
  });
  sum_rows<kSize>(tile.part, sums);
  for_each_product_row<kSize>([&](int row, int m, int half, bool first) {
    float &mean = sums[0][m][half], &scale = sums[1][m][half];
    mean *= share;
    scale = rsqrtf(fmaxf(scale * share - mean * mean, 0.0f) + kNormEpsilon);
    if (first) keep(row, scale);
    mean *= -scale;
  });
  for_each_group<kSize>([&](const auto& group) {
    group.each([&](const auto& at, int m, int half) {
#pragma unroll
      for (int i = 0; i < 8; ++i)
        at(out[m], i) = __fmaf_rn(at(out[m], i), sums[1][m][half], sums[0][m][half]);
    });
  });
}

// Adds the bias to a product with `units` columns and normalises at least its first `rows` rows if
// `norm`. Calls keep(row, scale) once for each row.
template <bool kExact, int kSize, typename T, typename Keep>
__device__ void normalise(T& tile, const float* bias, int units, int rows, bool norm,
                          float (&out)[Tile<kSize>::kTiles][8][4], Keep&& keep) {
  if (kExact && norm) return normalise_by_deviations<kSize>(tile, bias, units, rows, out, keep);
  add_bias<kSize>(bias, out);
  if (!kExact && norm) return normalise_by_moments<kSize>(tile, units, out, keep);
  for_each_product_row<kSize>([&](int row, int, int, bool first) {
    if (first) keep(row, 1.0f);
  });
}

// The backward pass through a normalisation n = (x - mean) * scale: dx = scale * (dn - mean(dn) - n
// * mean(dn * n)). Call add() for every dn, then finish(), then dx() for each or apply() for all.
template <int kSize>
class NormGradient {
 public:
  __device__ void add(int m, int half, float dn, float n) {
    sums_[0][m][half] += dn;
    sums_[1][m][half] += dn * n;
  }
  // Without `norm`, dx is dn.
  template <typename Tile>
  __device__ void finish(Tile& tile, int units, const float* scale, bool norm) {
    sum_rows<kSize>(tile.part, sums_);
    const float share = norm ? 1.0f / units : 0.0f;
    for_each_product_row<kSize>([&](int row, int m, int half, bool) {
      scale_[m][half] = scale[row];
      sums_[0][m][half] *= -share * scale_[m][half];
      sums_[1][m][half] *= -share * scale_[m][half];
    });
  }
  __device__ float dx(int m, int half, float dn, float n, bool on = true) const {
    const float rest = __fmaf_rn(n, sums_[1][m][half], sums_[0][m][half]);
    return on ? __fmaf_rn(dn, scale_[m][half], rest) : rest;  // otherwise dn is zero
  }
  // Replaces every dn in `out` by its dx; load(n, octet) gives eight n. Numbers beyond the layer's
  // units do not become zero: no parameter depends on them.
  template <typename Load>
  __device__ void apply(const Load& load, float (&out)[Tile<kSize>::kTiles][8][4]) const {
    for_each_group<kSize>([&](const auto& group) {
      group.each([&](const auto& at, int m, int half) {
        float n[8];
        load(n, at);
#pragma unroll
        for (int i = 0; i < 8; ++i) at(out[m], i) = dx(m, half, at(out[m], i), n[i]);
      });
    });
  }

 private:
  float sums_[2][Tile<kSize>::kTiles][2] = {};
  float scale_[Tile<kSize>::kTiles][2];
};

// Sums over the rows of a warp for the gradients of gain (d * n) and shift (d) of eight units.
class UnitSums {
 public:
  __device__ void add(int i, float d, float n) {
    sums_[i] += d;
    sums_[8 + i] = __fmaf_rn(d, n, sums_[8 + i]);
  }
  // Writes the sums to the columns from `column` on. The eight lanes that share them add up in a
  // fixed order, each keeping half of its sums in every round. kFirst: the distance of the lanes
  // that add up first, 16 or 4.
  template <int kFirst = 16>
  __device__ void write(float* by_gain, float* by_shift, int column, int stride) {
    constexpr int kLast = 64 / kFirst;
    exchange<8, kFirst>();
    exchange<4, 8>();
    exchange<2, kLast>();
    if (column >= stride) return;
    const int lane = threadIdx.x % 32;
    float* to =
        (lane & kFirst ? by_gain : by_shift) + column + (lane & 8 ? 4 : 0) + (lane & kLast ? 2 : 0);
    *reinterpret_cast<float2*>(to) = make_float2(sums_[0], sums_[1]);
  }

 private:
  template <int kKept, int kOther>  // kOther: distance to the lane of the exchange
  __device__ void exchange() {
    const bool upper = threadIdx.x & kOther;
#pragma unroll
    for (int i = 0; i < kKept; ++i) {
      const float given = upper ? sums_[i] : sums_[i + kKept];
      const float mine = upper ? sums_[i + kKept] : sums_[i];
      sums_[i] = mine + __shfl_xor_sync(~0u, given, kOther);
    }
  }

  float sums_[16] = {};
};

}  // namespace ovde::cuda
