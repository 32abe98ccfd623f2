// Products of a tile of samples with a network's weights on the tensor cores, in fp32. The samples'
// activations stay in shared memory from layer to layer; the weights stream through it. A row's
// result does not depend on the other rows of its tile.
//
// The tensor cores read numbers of 11 significant bits. Each operand is split into two of them, and
// three products of these parts equal one in fp32 up to its last bits.
#pragma once

#include <cstdint>

#include "cuda/agent.h"
#include "cuda/tile/instructions.cuh"

namespace ovde::cuda {

// ---- fp16 numbers where the instructions take floats

__device__ inline void copy_async(__half* to, const __half* from, bool valid) {
  copy_async(reinterpret_cast<float*>(to), reinterpret_cast<const float*>(from), valid);
}
// Four 8 x 8 blocks.
__device__ inline void load_blocks(std::uint32_t (&r)[4], const __half* from) {
  load_blocks(r, reinterpret_cast<const float*>(from));
}

// ---- numbers

// Rounds to TF32's 11 significant bits by two cancellations. NaN stays NaN, which rounding the bits
// as an integer would lose.
__device__ inline float rounded(float x) {
  const float large = __fmul_rn(x, 8193.0f);  // 2^13 + 1
  return __fsub_rn(large, __fsub_rn(large, x));
}

// Rounds an operand that will be read many times.
template <bool kExact>
__device__ inline float operand(float x) {
  return kExact ? x : rounded(x);
}

// A fragment of an operand, whole (the tensor core reads 10 bits of mantissa) or in two parts.
template <bool kExact, int kCount>
struct Fragment {
  std::uint32_t high[kCount];
  std::uint32_t low[kExact ? kCount : 1];

  __device__ void split() {
    if constexpr (kExact) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const float value = __uint_as_float(high[i]);
        const float part = rounded(value);
        low[i] = __float_as_uint(value - part);
        high[i] = __float_as_uint(part);
      }
    }
  }
};

template <bool kExact, int kCount>
__device__ inline void multiply(float (&c)[4], const Fragment<kExact, 4>& a,
                                const Fragment<kExact, kCount>& b, int b0, int b1) {
  if constexpr (kExact) {
    multiply_exact(c, a.high, a.low, b.high[b0], b.high[b1], b.low[b0], b.low[b1]);
  } else {
    multiply(c, a.high, b.high[b0], b.high[b1]);
  }
}

// ---- tiles

// Size 0 takes less than 99 KB of shared memory, which a block has on every GPU. Sizes 1 and 2 have
// more slabs in flight or more rows; in fp16 they take no more than 99 KB either.
template <int kSize>
struct Tile {
  static constexpr int kRows = kSize >= 2 ? 64 : 32;
  static constexpr int kWarpRows = 2;  // warps: kWarpRows x 4
  static constexpr int kTiles =
      kRows / kWarpRows / 16;  // a warp has 16 * kTiles rows and 64 columns
  static constexpr int kWarps = 4 * kWarpRows, kThreads = 32 * kWarps;
  static constexpr int kEach = kRows / kWarps;  // rows of a warp, where it takes whole ones
  // weights arrive in slabs of kSlab terms of the sum; kStages of them are in flight or in use
  static constexpr int kSlab = kSize == 0 ? 16 : 32;
  static constexpr int kStages = kSize == 0 ? 2 : kSize == 1 ? 4 : 3;
  static constexpr int kStride = kMostWidth + 4;          // x without bank conflicts
  static constexpr int kForwardStride = kSlab + 4;        // slab as [output][term]
  static constexpr int kBackwardStride = kMostWidth + 8;  // slab as [term][input]
  static constexpr int kSlabFloats = kMostWidth * kForwardStride;
  static_assert(kSlab * kBackwardStride <= kSlabFloats);
  static_assert(kMostOutputs * kStride <= kStages * kSlabFloats);  // narrow layer

  float x[kRows][kStride];
  float weights[kStages * kSlabFloats];

  using Operand = Fragment<true, 4>;

  // a number of x as an operand, and as a result of narrow_product()
  __device__ void put(int row, int column, float value) { x[row][column] = value; }
  __device__ float& result(int row, int column) { return x[row][column]; }
  // each sample's row of the replay buffer, kept in the padding of x
  __device__ std::uint32_t& index(int row) {
    return reinterpret_cast<std::uint32_t&>(x[row][kMostWidth]);
  }
};

// A network's parameters for a pass; in fp16 the weights come from copies of each layer.
struct PassParameters {
  const float* values;
  __half *const *forward = nullptr, *const *backward = nullptr;
};
__device__ inline PassParameters online(const Network& net, const HalfCopies& copies) {
  return {net.parameters, copies.forward, copies.backward};
}
__device__ inline PassParameters target(const Network& net, const HalfCopies& copies) {
  return {net.target, copies.target, copies.backward};
}

// The stride of the rows of a layer's deltas.
__device__ inline int stride_of_deltas(int outputs) { return (outputs + 15) & ~15; }

// ---- weights

// Forward: y = W x. Backward: dx = W' dy.
enum class Pass { forward, backward };

struct Weights {
  __device__ Weights(const float* parameters, const LayerShape& layer)
      : values(parameters + layer.weights), outputs(layer.outputs), stride(layer.stride) {}
  const float* __restrict__ values;
  int outputs, stride;
  template <Pass kPass>
  __device__ int terms() const {
    return kPass == Pass::forward ? stride : outputs;
  }
};

// The place of row `o` of W in a forward slab: columns 4 j + t of 32 are column j of tile t in
// product().
__device__ inline int slab_row(int o) { return (o & ~31) + o % 4 * 8 + o / 4 % 8; }

// Starts to copy slab number `slab`, if there is one, to shared memory. Numbers outside W are zero.
template <Pass kPass, int kSize>
__device__ void fetch_slab(Tile<kSize>& tile, const Weights& w, int slab) {
  using T = Tile<kSize>;
  const int first = slab * T::kSlab;
  if (first < w.terms<kPass>()) {
    float* to = tile.weights + slab % T::kStages * T::kSlabFloats;
    // each thread has the same place in several groups of rows
    constexpr int kParts = (kPass == Pass::forward ? T::kSlab : kMostWidth) / 4;
    constexpr int kStep = T::kThreads / kParts;
    constexpr int kRows = kPass == Pass::forward ? kMostWidth : T::kSlab;
    const int row0 = threadIdx.x / kParts, column = threadIdx.x % kParts * 4;
    const float* from = kPass == Pass::forward ? w.values + row0 * w.stride + first + column
                                               : w.values + (first + row0) * w.stride + column;
    const int rows = kPass == Pass::forward ? w.outputs : w.outputs - first;
    const bool column_valid = (kPass == Pass::forward ? first : 0) + column < w.stride;
#pragma unroll
    for (int j = 0; j < kRows / kStep; ++j) {
      const int row = row0 + j * kStep;
      const bool valid = column_valid && row < rows;
      float* at = kPass == Pass::forward ? to + slab_row(row) * T::kForwardStride + column
                                         : to + row * T::kBackwardStride + column;
      copy_async(at, valid ? from + j * kStep * w.stride : w.values, valid);
    }
  }
  commit_copies();
}

// Starts to copy the first slabs of a layer, ahead of product(). No thread may still read the
// weights' memory.
template <Pass kPass, int kSize>
__device__ void fetch_first(Tile<kSize>& tile, const Weights& w) {
#pragma unroll
  for (int slab = 0; slab < Tile<kSize>::kStages - 1; ++slab) fetch_slab<kPass>(tile, w, slab);
}

// ---- products

template <int kTiles>
__device__ void clear(float (&out)[kTiles][8][4]) {
#pragma unroll
  for (int m = 0; m < kTiles; ++m)
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) out[m][n][i] = 0;
}

// out = x * W' (forward) or x * W (backward), after fetch_first(). x must be zero beyond its terms
// up to the last slab's end. Rows beyond the first `rows` may be skipped. Ends with a barrier.
template <Pass kPass, int kSize>
__device__ void product(Tile<kSize>& tile, const Weights& w,
                        float (&out)[Tile<kSize>::kTiles][8][4], int rows = Tile<kSize>::kRows) {
  using T = Tile<kSize>;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_row = warp / 4 * 16 * T::kTiles, first_column = warp % 4 * 64;
  const bool has_work =
      first_column < (kPass == Pass::forward ? w.outputs : w.stride) && first_row < rows;
  clear(out);
  const int slabs = (w.terms<kPass>() + T::kSlab - 1) / T::kSlab;
  for (int slab = 0; slab < slabs; ++slab) {
    wait_for_copies<T::kStages - 2>();
    __syncthreads();
    fetch_slab<kPass>(tile, w, slab + T::kStages - 1);
    if (!has_work) continue;
    const float* weights = tile.weights + slab % T::kStages * T::kSlabFloats;
#pragma unroll
    for (int step = 0; step < T::kSlab; step += 8) {
      Fragment<true, 4> a[T::kTiles];
#pragma unroll
      for (int m = 0; m < T::kTiles; ++m) {
        load_blocks(
            a[m].high,
            &tile.x[first_row + m * 16 + lane % 16][slab * T::kSlab + step + lane / 16 * 4]);
        a[m].split();
      }
#pragma unroll
      for (int group = 0; group < 2; ++group) {  // 32 columns: 4 j + t is column j of tile t
        Fragment<true, 4> b[2];
        if constexpr (kPass == Pass::forward) {
#pragma unroll
          for (int pair = 0; pair < 2; ++pair) {  // two tiles at a time
            const int row = first_column + group * 32 + pair * 16 + lane % 8 + lane / 16 * 8;
            load_blocks(b[pair].high, weights + row * T::kForwardStride + step + lane / 8 % 2 * 4);
            b[pair].split();
          }
        } else {
          const float* from = weights + (step + lane % 4) * T::kBackwardStride + first_column +
                              group * 32 + lane / 4 * 4;
          const auto upper = *reinterpret_cast<const uint4*>(from);
          const auto lower = *reinterpret_cast<const uint4*>(from + 4 * T::kBackwardStride);
          b[0].high[0] = upper.x, b[0].high[1] = lower.x, b[0].high[2] = upper.y,
          b[0].high[3] = lower.y;
          b[1].high[0] = upper.z, b[1].high[1] = lower.z, b[1].high[2] = upper.w,
          b[1].high[3] = lower.w;
          b[0].split();
          b[1].split();
        }
#pragma unroll
        for (int m = 0; m < T::kTiles; ++m) {
          multiply(out[m][4 * group], a[m], b[0], 0, 1);
          multiply(out[m][4 * group + 1], a[m], b[0], 2, 3);
          multiply(out[m][4 * group + 2], a[m], b[1], 0, 1);
          multiply(out[m][4 * group + 3], a[m], b[1], 2, 3);
        }
      }
    }
  }
  wait_for_copies<0>();
  __syncthreads();
}

// Eight adjacent columns of a product in one lane: `half` of the rows and `group` of 32 columns of
// tile m.
template <int kSize>
struct Octet {
  __device__ Octet(int m, int half, int group) : half_(half), group_(group) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    row = (warp / 4 * Tile<kSize>::kTiles + m) * 16 + half * 8 + lane / 4;
    column = warp % 4 * 64 + group * 32 + lane % 4 * 8;
  }
  __device__ float operator()(const float (&out)[8][4], int i) const {
    return out[4 * group_ + i % 4][2 * half_ + i / 4];
  }
  __device__ float& operator()(float (&out)[8][4], int i) const {
    return out[4 * group_ + i % 4][2 * half_ + i / 4];
  }
  int row, column;

 private:
  int half_, group_;
};

// Eight adjacent numbers, 16 bytes at a time.
__device__ inline void store8(float* to, const float (&v)[8]) {
  reinterpret_cast<float4*>(to)[0] = make_float4(v[0], v[1], v[2], v[3]);
  reinterpret_cast<float4*>(to)[1] = make_float4(v[4], v[5], v[6], v[7]);
}

__device__ inline void load8(float (&v)[8], const float* from) {
  const float4 a = reinterpret_cast<const float4*>(from)[0],
               b = reinterpret_cast<const float4*>(from)[1];
  v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w, v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
}

// The product of a layer with few outputs. Rows of B, each `terms` long, lie in the weights' memory
// with the stride of x. Leaves the products, plus `bias` unless it is null, in the first `columns`
// results. Ends with a barrier.
template <typename T>
__device__ void narrow_product(T& tile, int columns, int terms, const float* bias) {
  constexpr int kRowTiles = T::kRows / 16;
  constexpr int kMostTasks = kRowTiles * (kMostOutputs / 8) / T::kWarps;
  constexpr int kLoad = 16 / sizeof(tile.x[0][0]);  // numbers that a lane loads at a time
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int tasks = kRowTiles * ((columns + 7) / 8);
  float result[kMostTasks][4];
#pragma unroll
  for (int t = 0; t < kMostTasks; ++t) {
    const int task = warp + T::kWarps * t;
    if (task >= tasks) break;
    const auto* a_from = &tile.x[task % kRowTiles * 16 + lane % 16][lane / 16 * kLoad];
    const auto* b_from =
        tile.weights + (task / kRowTiles * 8 + lane % 8) * T::kStride + lane / 8 * kLoad;
    float sums[2][4] = {};  // two chains: a product need not wait for the previous one
    for (int k = 0; k < terms; k += 4 * kLoad) {
      typename T::Operand b;
      load_blocks(b.high, b_from + k);
      b.split();
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        typename T::Operand a;
        load_blocks(a.high, a_from + k + 2 * kLoad * half);
        a.split();
        multiply(sums[half], a, b, 2 * half, 2 * half + 1);
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) result[t][i] = sums[0][i] + sums[1][i];
  }
  __syncthreads();
#pragma unroll
  for (int t = 0; t < kMostTasks; ++t) {
    const int task = warp + T::kWarps * t;
    if (task >= tasks) break;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = task % kRowTiles * 16 + i / 2 * 8 + lane / 4;
      const int column = task / kRowTiles * 8 + lane % 4 * 2 + i % 2;
      if (column < columns)
        tile.result(row, column) = result[t][i] + (bias != nullptr ? bias[column] : 0.0f);
    }
  }
  __syncthreads();
}

// Starts to copy an output layer's weights to the weights' memory, for narrow_product().
template <typename T, typename Number>
__device__ void fetch_narrow(T& tile, const Number* from, int stride, int outputs, int width) {
  constexpr int kLoad = 16 / sizeof(Number), kParts = kMostWidth / kLoad;
  const int column = threadIdx.x % kParts * kLoad;
  if (column < width) {
#pragma unroll
    for (int row = threadIdx.x / kParts; row < kMostOutputs; row += T::kThreads / kParts) {
      if (row < outputs)
        copy_async(tile.weights + row * T::kStride + column, from + row * stride + column, true);
    }
  }
  commit_copies();
}

}  // namespace ovde::cuda
