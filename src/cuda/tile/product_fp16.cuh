// The products of product.cuh in fp16. Its mantissa has 11 bits, as that of TF32, so products are
// as precise, at twice the rate and with half of the bytes; two blocks fit on a multiprocessor, and
// one computes while the other waits. fp16 has less range: larger numbers are clamped to it, and
// gradients are scaled so that they do not vanish.
#pragma once

#include <cuda_fp16.h>

#include <type_traits>

#include "cuda/tile/product.cuh"

namespace ovde::cuda {

// Weights arrive in slabs of kTerms terms of the sum. A slab is contiguous: forward as
// [output][term] with the outputs in the order of slab_row(), backward as [term][input] with the
// inputs in that order. The groups of eight numbers of a row are permuted (by exclusive or), so
// that the same group of eight rows lies in different banks of shared memory.
struct HalfSlab {
  static constexpr int kTerms = 32, kNumbers = kTerms * kMostWidth;
  // offset of a number
  __device__ static int forward(int row, int term) {
    return row * kTerms + (term ^ row / 2 % 4 * 8);
  }
  __device__ static int backward(int term, int column) {
    return term * kMostWidth + (column ^ term % 8 * 8);
  }
};

struct HalfFragment {
  std::uint32_t high[4];
  __device__ void split() {}
};
__device__ inline void multiply(float (&c)[4], const HalfFragment& a, const HalfFragment& b, int b0,
                                int b1) {
  multiply_half(c, a.high, b.high[b0], b.high[b1]);
}

template <int kSize>
struct HalfTile {
  static constexpr int kRows = Tile<kSize>::kRows, kTiles = Tile<kSize>::kTiles;
  static constexpr int kWarps = Tile<kSize>::kWarps, kThreads = Tile<kSize>::kThreads;
  static constexpr int kStages = 3;               // slabs in flight or in use
  static constexpr int kStride = kMostWidth + 8;  // without bank conflicts
  static constexpr int kEach = Tile<kSize>::kEach;

  __half x[kRows][kStride];
  // slabs, or an array with the rows of x
  __half weights[kStages * HalfSlab::kNumbers];
  static_assert(kStages * HalfSlab::kNumbers >= kRows * kStride);

  using Operand = HalfFragment;

  // as in Tile; results are fp32 and overwrite the operands of their row
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

// The numbers in a trace of a precision.
template <bool kExact>
__device__ auto* numbers(float* memory) {
  return reinterpret_cast<std::conditional_t<kExact, float, __half>*>(memory);
}
__device__ inline void store(float& to, float x) { to = x; }
__device__ inline void store(__half& to, float x) { to = to_half(x); }

// ---- weights

// The fp16 copies of a layer.
struct HalfWeights {
  const __half *forward, *backward;
  int outputs, stride;
  template <Pass kPass>
  __device__ int slabs() const {
    return ((kPass == Pass::forward ? stride : outputs) + HalfSlab::kTerms - 1) / HalfSlab::kTerms;
  }
};

// Copies the slabs of a layer to shared memory, one after the other. A thread has the same places
// in each.
template <Pass kPass, int kSize>
class SlabStream {
 public:
  using T = HalfTile<kSize>;
  using S = HalfSlab;

  __device__ SlabStream(T& tile, const HalfWeights& w, int first)
      : from_((kPass == Pass::forward ? w.forward : w.backward) + first * S::kNumbers +
              threadIdx.x * 8),
        to_(tile.weights + threadIdx.x * 8),
        left_(w.slabs<kPass>() - first) {}

  // Starts to copy the next slab, if there is one, into stage `stage`.
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

// Starts to copy the first slabs of a layer, ahead of product(). No thread may still read the
// weights' memory.
template <Pass kPass, int kSize>
__device__ void fetch_first(HalfTile<kSize>& tile, const HalfWeights& w) {
  SlabStream<kPass, kSize> stream(tile, w, 0);
#pragma unroll
  for (int stage = 0; stage < HalfTile<kSize>::kStages - 1; ++stage) stream.fetch(stage);
}

// Writes the fp16 copies of W[o][i .. i + 3]. narrow: W is an output layer.
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

// As product() in fp32.
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
  // offset of this lane's rows of the first blocks
  const int first = kPass == Pass::forward
                        ? S::forward(first_column + lane % 8 + lane / 16 * 8, lane / 8 % 2 * 8)
                        : S::backward(lane % 8 + lane / 8 % 2 * 8, first_column + lane / 16 * 8);
  clear(out);
  SlabStream<kPass, kSize> stream(tile, w, T::kStages - 1);
  int stage = 0;
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

}  // namespace ovde::cuda
