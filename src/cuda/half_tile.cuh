// The tile of tile.cuh in numbers of 16 bits. fp16 has the 10 bits of mantissa that TF32 keeps of
// an operand, so products are as precise, at twice the rate and in half of the bytes; two blocks
// fit on a multiprocessor, and one computes while the other waits. What it lacks is range: numbers
// beyond its largest are cut to it, and gradients are scaled so that they do not vanish below its
// smallest.
#pragma once

#include <cuda_fp16.h>

#include "cuda/norm.cuh"

namespace ovde::cuda {

// Weights arrive in slabs of kTerms terms of the sum. A slab is one piece of memory, forward as
// [output][term] with the outputs in the order of slab_row(), backward as [term][input] with the
// inputs in that order. A row's pieces of eight numbers change places with each other, so that of
// eight rows' pieces with the same numbers no two lie in the same banks of shared memory.
struct HalfSlab {
  static constexpr int kTerms = 32, kNumbers = kTerms * kMostWidth;
  // where a number is
  __device__ static int forward(int row, int term) {
    return row * kTerms + (term ^ row / 2 % 4 * 8);
  }
  __device__ static int backward(int term, int column) {
    return term * kMostWidth + (column ^ term % 8 * 8);
  }
};

template <int kSize>
struct HalfTile {
  static constexpr int kRows = Tile<kSize>::kRows, kTiles = Tile<kSize>::kTiles;
  static constexpr int kWarps = Tile<kSize>::kWarps, kThreads = Tile<kSize>::kThreads;
  static constexpr int kStages = 3;               // slabs in flight or in use
  static constexpr int kStride = kMostWidth + 8;  // no two lanes meet in a bank
  static constexpr int kEach = Tile<kSize>::kEach;

  __half x[kRows][kStride];
  // the slabs, or something else with as many rows as x
  __half weights[kStages * HalfSlab::kNumbers];
  static_assert(kStages * HalfSlab::kNumbers >= kRows * kStride);

  // as in Tile; results are fp32 and lie over the operands of their row
  __device__ void put(int row, int column, float value);
  __device__ float& result(int row, int column) { return reinterpret_cast<float*>(x[row])[column]; }
  __device__ std::uint32_t& index(int row) {
    return reinterpret_cast<std::uint32_t&>(x[row][kMostWidth]);
  }
};

// ---- numbers

__device__ inline __half to_half(float x) {
  return __ushort_as_half(static_cast<unsigned short>(pack(x, 0.0f)));
}
template <int kSize>
__device__ void HalfTile<kSize>::put(int row, int column, float value) {
  x[row][column] = to_half(value);
}
__device__ inline uint4 pack8(const float (&v)[8]) {
  return make_uint4(pack(v[0], v[1]), pack(v[2], v[3]), pack(v[4], v[5]), pack(v[6], v[7]));
}
__device__ inline void unpack8(float (&v)[8], const uint4& from) {
  const std::uint32_t words[4] = {from.x, from.y, from.z, from.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float2 both = __half22float2(reinterpret_cast<const __half2&>(words[i]));
    v[2 * i] = both.x;
    v[2 * i + 1] = both.y;
  }
}
__device__ inline void store8(__half* to, const float (&v)[8]) {
  *reinterpret_cast<uint4*>(to) = pack8(v);
}
__device__ inline void load8(float (&v)[8], const __half* from) {
  unpack8(v, *reinterpret_cast<const uint4*>(from));
}

// ---- instructions

__device__ inline void copy_async(__half* to, const __half* from, bool valid) {
  copy_async(reinterpret_cast<float*>(to), reinterpret_cast<const float*>(from), valid);
}

// Four 8 x 8 blocks; this lane gives the address of row lane % 8 of block lane / 8.
__device__ inline void load_blocks(std::uint32_t (&r)[4], const __half* from) {
  load_blocks(r, reinterpret_cast<const float*>(from));
}

// ---- weights

// A layer's fp16 copies.
struct HalfWeights {
  const __half *forward, *backward;
  int outputs, stride;
  template <Pass kPass>
  __device__ int slabs() const {
    return ((kPass == Pass::forward ? stride : outputs) + HalfSlab::kTerms - 1) / HalfSlab::kTerms;
  }
};

// The slabs of a layer one after the other on their way into shared memory. A thread has the same
// places in each.
template <Pass kPass, int kSize>
class SlabStream {
 public:
  using T = HalfTile<kSize>;
  using S = HalfSlab;

  // From slab number `first` on.
  __device__ SlabStream(T& tile, const HalfWeights& w, int first)
      : from_((kPass == Pass::forward ? w.forward : w.backward) + first * S::kNumbers +
              threadIdx.x * 8),
        to_(tile.weights + threadIdx.x * 8),
        left_(w.slabs<kPass>() - first) {}

  // The next slab, if there is one, into stage `stage`.
  __device__ void fetch(int stage) {
    if (left_ > 0) {
#pragma unroll
      for (int j = 0; j < S::kNumbers / 8 / T::kThreads; ++j)
        copy_async(to_ + stage * S::kNumbers + j * T::kThreads * 8, from_ + j * T::kThreads * 8,
                   true);
      from_ += S::kNumbers;
      --left_;
    }
    commit_copies();
  }

 private:
  const __half* from_;
  __half* to_;
  int left_;
};

// The first slabs of a layer, ahead of product(); nobody may be reading the weights' memory.
template <Pass kPass, int kSize>
__device__ void fetch_first(HalfTile<kSize>& tile, const HalfWeights& w) {
  SlabStream<kPass, kSize> stream(tile, w, 0);
#pragma unroll
  for (int stage = 0; stage < HalfTile<kSize>::kStages - 1; ++stage) stream.fetch(stage);
}

// Where the copies of W[o][i .. i + 3] go. narrow: W is an output layer.
__device__ inline void copy_weights(const HalfCopies& copies, int l, bool narrow, int o, int i,
                                    const float4& online, const float4& target) {
  using S = HalfSlab;
  const int to = narrow ? o * kMostWidth + i
                        : i / S::kTerms * S::kNumbers + S::forward(slab_row(o), i % S::kTerms);
  const auto store4 = [to](__half* copy, const float4& v) {
    *reinterpret_cast<uint2*>(copy + to) = make_uint2(pack(v.x, v.y), pack(v.z, v.w));
  };
  store4(copies.forward[l], online);
  store4(copies.target[l], target);
  if (copies.backward[l] == nullptr) return;
  __half* slab = copies.backward[l] + o / S::kTerms * S::kNumbers;
  const float v[4] = {online.x, online.y, online.z, online.w};
#pragma unroll
  for (int c = 0; c < 4; ++c) slab[S::backward(o % S::kTerms, slab_row(i + c))] = to_half(v[c]);
}

// ---- products

// As product() of tile.cuh.
template <Pass kPass, int kSize>
__device__ void product(HalfTile<kSize>& tile, const HalfWeights& w,
                        float (&out)[HalfTile<kSize>::kTiles][8][4],
                        int rows = HalfTile<kSize>::kRows) {
  using T = HalfTile<kSize>;
  using S = HalfSlab;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int first_row = warp / 4 * 16 * T::kTiles, first_column = warp % 4 * 64;
  const bool has_work =
      first_column < (kPass == Pass::forward ? w.outputs : w.stride) && first_row < rows;
  const __half* x = &tile.x[first_row + lane % 16][lane / 16 * 8];
  // where this lane's rows of the first blocks begin
  const int first = kPass == Pass::forward
                        ? S::forward(first_column + lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8)
                        : S::backward(lane % 8 + lane / 8 % 2 * 8, first_column + lane / 16 * 8);
  clear(out);
  SlabStream<kPass, kSize> stream(tile, w, T::kStages - 1);
  int stage = 0;  // of this slab
#pragma unroll 1
  for (int slab = w.slabs<kPass>(); slab > 0; --slab) {
    wait_for_copies<T::kStages - 2>();
    __syncthreads();
    stream.fetch(stage == 0 ? T::kStages - 1 : stage - 1);
    if (has_work) {
      const __half* slab_weights = tile.weights + stage * S::kNumbers;
#pragma unroll
      for (int step = 0; step < S::kTerms; step += 16) {
        std::uint32_t a[T::kTiles][4];
#pragma unroll
        for (int m = 0; m < T::kTiles; ++m) load_blocks(a[m], x + m * 16 * T::kStride + step);
#pragma unroll
        for (int pair = 0; pair < 4; ++pair) {  // 16 columns: two tiles
          std::uint32_t b[4];
          if constexpr (kPass == Pass::forward) {
            load_blocks(b, slab_weights + pair * 16 * S::kTerms + (first ^ step));
          } else {
            load_transposed(b, slab_weights + step * kMostWidth + (first ^ pair * 16));
          }
#pragma unroll
          for (int m = 0; m < T::kTiles; ++m) {
            multiply_half(out[m][2 * pair], a[m], b[0], b[1]);
            multiply_half(out[m][2 * pair + 1], a[m], b[2], b[3]);
          }
        }
      }
    }
    x += S::kTerms;
    stage = stage == T::kStages - 1 ? 0 : stage + 1;
  }
  wait_for_copies<0>();
  __syncthreads();
}

// As narrow_product() of tile.cuh, with B's rows as far apart as those of x, zero up to a multiple
// of 32 terms; leaves the products in results.
template <int kSize>
__device__ void narrow_product(HalfTile<kSize>& tile, int columns, int terms, const float* bias) {
  using T = HalfTile<kSize>;
  constexpr int kRowTiles = T::kRows / 16;
  constexpr int kMostTasks = kRowTiles * (kMostOutputs / 8) / T::kWarps;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int tasks = kRowTiles * ((columns + 7) / 8);
  float sums[kMostTasks][2][4] = {};  // two chains, so that one product need not wait for the last
#pragma unroll
  for (int t = 0; t < kMostTasks; ++t) {
    const int task = warp + T::kWarps * t;
    if (task >= tasks) break;
    const __half* a_from = &tile.x[task % kRowTiles * 16 + lane % 16][lane / 16 * 8];
    const __half* b_from =
        tile.weights + (task / kRowTiles * 8 + lane % 8) * T::kStride + lane / 8 * 8;
    for (int k = 0; k < terms; k += 32) {
      std::uint32_t b[4];
      load_blocks(b, b_from + k);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        std::uint32_t a[4];
        load_blocks(a, a_from + k + 16 * half);
        multiply_half(sums[t][half], a, b[2 * half], b[2 * half + 1]);
      }
    }
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
        tile.result(row, column) =
            sums[t][0][i] + sums[t][1][i] + (bias != nullptr ? __ldg(bias + column) : 0.0f);
    }
  }
  __syncthreads();
}

}  // namespace ovde::cuda
