// Products of a tile of samples with a network's weights on the tensor cores: the samples'
// activations stay in shared memory from layer to layer, the weights stream through it. A row's
// result does not depend on which rows share its tile, nor on how many.
//
// Precision: TF32 (operands rounded to 10 bits of mantissa, sums in fp32), or `kExact`: each
// operand split into two such parts and three products of them, which is fp32 up to its last bits.
#pragma once

#include <cstdint>

#include "cuda/layout.h"

namespace ovde::cuda {

inline constexpr int kThreads = 256;  // 2 x 4 warps; each has 16 * kTiles rows and 64 columns
inline constexpr int kActivationStride = kMostWidth + 4;  // padded: no two lanes meet in a bank

// kTiles = 1 for few agents: small tiles, deep in flight. Otherwise two blocks share a
// multiprocessor, and one computes while the other waits.
template <int kTiles>
struct Tile {
  static constexpr int kRows = 32 * kTiles;
  static constexpr int kBlocks = kTiles == 2 ? 2 : 1;  // to a multiprocessor
  // weights arrive in slabs of kSlab terms of the sum, kStages of them in flight or in use
  static constexpr int kSlab = kTiles == 1 ? 32 : 16;
  static constexpr int kStages = kTiles == 1 ? 4 : kTiles == 2 ? 2 : 4;
  static constexpr int kForwardStride = kSlab + 4;        // slab as [output][term]
  static constexpr int kBackwardStride = kMostWidth + 8;  // slab as [term][input]
  static constexpr int kSlabFloats = kMostWidth * kForwardStride;
  // rows of a narrow layer that the weights' memory holds at a time
  static constexpr int kNarrowRows = kStages * kSlabFloats / kActivationStride / 8 * 8;
  static_assert(kSlab * kBackwardStride <= kSlabFloats && kMostOutputs <= kNarrowRows);

  float x[kRows][kActivationStride];
  float weights[kStages * kSlabFloats];
  float bias[2][kMostWidth];  // of this layer and the next
  std::uint32_t active[kMostHidden][kTiles]
                      [kThreads];  // which units were above zero: a bit for each number of a lane

  // where these bits go in memory: word number tile * kActiveWords + this
  static constexpr int kActiveWords = kMostHidden * kTiles * kThreads;

  // which row of the replay buffer each sample is: in the padding of x
  __device__ std::uint32_t& index(int row) {
    return reinterpret_cast<std::uint32_t&>(x[row][kMostWidth]);
  }
};

// ---- instructions

__device__ inline void copy_async(float* to, const float* from, bool valid) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from),
               "r"(valid ? 16 : 0));
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;"); }
template <int kLeft>
__device__ inline void wait_for_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft));
}

// Four 8 x 4 blocks of floats; this lane gives the address of row lane % 8 of block lane / 8.
__device__ inline void load_blocks(std::uint32_t (&r)[4], const float* from) {
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(from));
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address));
}

__device__ inline void multiply(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0,
                                std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
      "%9}, "
      "{%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Half a unit in the last place of TF32 added: the tensor core cuts off what is below it.
__device__ inline std::uint32_t rounded(std::uint32_t x) { return x + 0x1000u; }
__device__ inline float rounded(float x) {
  return __uint_as_float(rounded(__float_as_uint(x)) & 0xffffe000u);
}

// As an operand that will be read many times: rounded once.
template <bool kExact>
__device__ inline float operand(float x) {
  return kExact ? x : rounded(x);
}

// A fragment of an operand: as it is, or in two parts.
template <bool kExact, int kCount>
struct Fragment {
  std::uint32_t high[kCount];
  std::uint32_t low[kExact ? kCount : 1];

  // `round`: not rounded yet
  __device__ void prepare(bool round) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      if constexpr (kExact) {
        const float value = __uint_as_float(high[i]);
        const float part = rounded(value);
        low[i] = __float_as_uint(value - part);
        high[i] = __float_as_uint(part);
      } else if (round) {
        high[i] = rounded(high[i]);
      }
    }
  }
};

template <bool kExact, int kCount>
__device__ inline void multiply(float (&c)[4], const Fragment<kExact, 4>& a,
                                const Fragment<kExact, kCount>& b, int b0, int b1) {
  if constexpr (kExact) {
    multiply(c, a.low, b.high[b0], b.high[b1]);
    multiply(c, a.high, b.low[b0], b.low[b1]);
  }
  multiply(c, a.high, b.high[b0], b.high[b1]);
}

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

// Slab number `slab`, if there is one, on its way into shared memory. What lies outside W is zero.
template <Pass kPass, int kTiles>
__device__ void fetch_slab(Tile<kTiles>& tile, const Weights& w, int slab) {
  using T = Tile<kTiles>;
  const int first = slab * T::kSlab;
  if (first < w.terms<kPass>()) {
    float* to = tile.weights + slab % T::kStages * T::kSlabFloats;
    if constexpr (kPass == Pass::forward) {
      constexpr int kParts = T::kSlab / 4;
#pragma unroll
      for (int c = threadIdx.x; c < kMostWidth * kParts; c += kThreads) {
        const int row = c / kParts, column = c % kParts * 4;
        const bool valid = row < w.outputs && first + column < w.stride;
        copy_async(to + row * T::kForwardStride + column,
                   valid ? w.values + row * w.stride + first + column : w.values, valid);
      }
    } else {
      constexpr int kParts = kMostWidth / 4;
#pragma unroll
      for (int c = threadIdx.x; c < T::kSlab * kParts; c += kThreads) {
        const int row = c / kParts, column = c % kParts * 4;
        const bool valid = first + row < w.outputs && column < w.stride;
        copy_async(to + row * T::kBackwardStride + column,
                   valid ? w.values + (first + row) * w.stride + column : w.values, valid);
      }
    }
  }
  commit_copies();
}

// The first slabs of a layer, ahead of product(); nobody may be reading the weights' memory.
template <Pass kPass, int kTiles>
__device__ void fetch_first(Tile<kTiles>& tile, const Weights& w) {
#pragma unroll
  for (int slab = 0; slab < Tile<kTiles>::kStages - 1; ++slab) fetch_slab<kPass>(tile, w, slab);
}

// ---- products

// out = x * W' (forward) or x * W (backward), after fetch_first(); x must have zeros up to the end
// of the last slab. Ends with every thread done with x and the weights' memory.
template <Pass kPass, bool kExact, int kTiles>
__device__ void product(Tile<kTiles>& tile, const Weights& w, float (&out)[kTiles][8][4]) {
  using T = Tile<kTiles>;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_row = warp / 4 * 16 * kTiles, first_column = warp % 4 * 64;
  const bool has_columns = first_column < (kPass == Pass::forward ? w.outputs : w.stride);
#pragma unroll
  for (int m = 0; m < kTiles; ++m)
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) out[m][n][i] = 0;

  const int slabs = (w.terms<kPass>() + T::kSlab - 1) / T::kSlab;
  for (int slab = 0; slab < slabs; ++slab) {
    wait_for_copies<T::kStages - 2>();
    __syncthreads();
    fetch_slab<kPass>(tile, w, slab + T::kStages - 1);
    if (!has_columns) continue;
    const float* weights = tile.weights + slab % T::kStages * T::kSlabFloats;
#pragma unroll
    for (int step = 0; step < T::kSlab; step += 8) {
      Fragment<kExact, 4> a[kTiles];
#pragma unroll
      for (int m = 0; m < kTiles; ++m) {
        load_blocks(
            a[m].high,
            &tile.x[first_row + m * 16 + lane % 16][slab * T::kSlab + step + lane / 16 * 4]);
        a[m].prepare(false);
      }
#pragma unroll
      for (int pair = 0; pair < 4; ++pair) {
        Fragment<kExact, 4> b;  // two tiles of eight columns
        if constexpr (kPass == Pass::forward) {
          const int row = first_column + pair * 16 + lane % 8 + lane / 16 * 8;
          load_blocks(b.high, weights + row * T::kForwardStride + step + lane / 8 % 2 * 4);
        } else {
          const float* from = weights + (step + lane % 4) * T::kBackwardStride + first_column +
                              pair * 16 + lane / 4;
          b.high[0] = __float_as_uint(from[0]);
          b.high[1] = __float_as_uint(from[4 * T::kBackwardStride]);
          b.high[2] = __float_as_uint(from[8]);
          b.high[3] = __float_as_uint(from[4 * T::kBackwardStride + 8]);
        }
        b.prepare(true);
#pragma unroll
        for (int m = 0; m < kTiles; ++m) {
          multiply(out[m][2 * pair], a[m], b, 0, 1);
          multiply(out[m][2 * pair + 1], a[m], b, 2, 3);
        }
      }
    }
  }
  wait_for_copies<0>();
  __syncthreads();
}

// Where this lane's numbers of a product lie: pair `half` (two neighbouring columns) of tile (m,
// n).
template <int kTiles>
struct Place {
  __device__ Place(int m, int n, int half) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    row = (warp / 4 * kTiles + m) * 16 + half * 8 + lane / 4;
    column = warp % 4 * 64 + n * 8 + lane % 4 * 2;
  }
  int row, column;
};

// For a layer with few outputs: rows of B, each `terms` long, lie in the weights' memory with the
// activations' stride. Leaves the products, plus `bias` where it is not null, in x, columns 0 ..
// columns - 1. Ends with every thread done.
template <bool kExact, int kTiles>
__device__ void narrow_product(Tile<kTiles>& tile, int columns, int terms, const float* bias) {
  constexpr int kMostTasks = kTiles * 2 * (kMostOutputs / 8) / 8;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int row_tiles = 2 * kTiles, tasks = row_tiles * ((columns + 7) / 8);
  float result[kMostTasks][4];
#pragma unroll
  for (int t = 0; t < kMostTasks; ++t) {
    const int task = warp + 8 * t;
    if (task >= tasks) break;
    const float* a_from = &tile.x[task % row_tiles * 16 + lane % 16][lane / 16 * 4];
    const float* b_from =
        tile.weights + (task / row_tiles * 8 + lane % 8) * kActivationStride + lane / 8 * 4;
    float sums[2][4] = {};  // two chains, so that one product need not wait for the last
    for (int k = 0; k < terms; k += 16) {
      Fragment<kExact, 4> b;
      load_blocks(b.high, b_from + k);
      b.prepare(true);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        Fragment<kExact, 4> a;
        load_blocks(a.high, a_from + k + 8 * half);
        a.prepare(false);
        multiply(sums[half], a, b, 2 * half, 2 * half + 1);
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) result[t][i] = sums[0][i] + sums[1][i];
  }
  __syncthreads();
#pragma unroll
  for (int t = 0; t < kMostTasks; ++t) {
    const int task = warp + 8 * t;
    if (task >= tasks) break;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = task % row_tiles * 16 + i / 2 * 8 + lane / 4;
      const int column = task / row_tiles * 8 + lane % 4 * 2 + i % 2;
      if (column < columns)
        tile.x[row][column] = result[t][i] + (bias != nullptr ? bias[column] : 0.0f);
    }
  }
  __syncthreads();
}

}  // namespace ovde::cuda
