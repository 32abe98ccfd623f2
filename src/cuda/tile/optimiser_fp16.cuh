// The gradients of a network's parameters from fp16 traces, and the fp16 copies of new parameters.
#pragma once

#include "cuda/tile/optimiser.cuh"
#include "cuda/tile/product_fp16.cuh"

namespace ovde::cuda {

// Step and Summands in fp16. Slabs are larger where there are many rows.
template <int kRows>
struct HalfStep {
  static constexpr int kSlab = kRows, kStages = 3;
  static constexpr int kStride = kSide + 8;
  static constexpr int kHalf = kSlab * kStride;
  static constexpr int kBytes = kStages * 2 * kHalf * sizeof(__half);
  static_assert(kBytes >= kSide * (kSide + 4) * sizeof(float));  // for apply_gradient()
};
struct HalfSummands {
  __device__ HalfSummands(const Summands& from, const LayerShape& layer)
      : delta(reinterpret_cast<const __half*>(from.delta)),
        input(reinterpret_cast<const __half*>(from.input)),
        delta_stride(stride_of_deltas(layer.outputs)),
        input_stride(from.input_stride),
        rows(from.rows),
        scale(from.scale) {}
  const __half* delta;
  const __half* input;
  int delta_stride, input_stride, rows;
  float scale;
};

// Copies the slabs to shared memory, one after the other: kSide columns of the deltas and of the
// inputs. A thread has the same places in each.
template <int kSlab>
class BatchStream {
 public:
  __device__ BatchStream(__half* memory, const HalfSummands& from, const Corner& corner)
      : stride_{from.delta_stride, from.input_stride},
        row_(threadIdx.x / kParts),
        rows_(from.rows) {
    const int column = threadIdx.x % kParts * 8;
    to_ = memory + row_ * HalfStep<kSlab>::kStride + column;
    const int at[] = {corner.output + column, corner.input + column};
#pragma unroll
    for (int which = 0; which < 2; ++which) {
      valid_[which] = at[which] < stride_[which];
      from_[which] = (which == 0 ? from.delta : from.input) +
                     (valid_[which] ? row_ * stride_[which] + at[which] : 0);
    }
  }

  // Starts to copy the next slab, if there is one, into stage `stage`.
  __device__ void fetch(int stage) {
    using S = HalfStep<kSlab>;
#pragma unroll
    for (int which = 0; which < 2; ++which) {
#pragma unroll
      for (int j = 0; j < S::kSlab / kRows; ++j) {
        const bool valid = valid_[which] && row_ + j * kRows < rows_;
        copy_async(to_ + (stage * 2 + which) * S::kHalf + j * kRows * S::kStride,
                   from_[which] + (valid ? j * kRows * stride_[which] : 0), valid);
      }
      if (row_ + S::kSlab < rows_) from_[which] += S::kSlab * stride_[which];
    }
    row_ += S::kSlab;
    commit_copies();
  }

 private:
  static constexpr int kParts = kSide / 8, kRows = Step::kThreads / kParts;
  __half* to_;
  const __half* from_[2];
  int stride_[2];
  bool valid_[2];
  int row_, rows_;
};

template <int kSlab>
__device__ TileGradient sum_half_tile(const HalfSummands& from, const Corner& corner,
                                      float* memory) {
  using S = HalfStep<kSlab>;
  auto* slabs_memory = reinterpret_cast<__half*>(memory);
  const int lane = threadIdx.x % 32;
  const int row0 = TileGradient::first_row(), column0 = TileGradient::first_column();
  const int slabs = (from.rows + S::kSlab - 1) / S::kSlab;
  BatchStream<kSlab> stream(slabs_memory, from, corner);
#pragma unroll
  for (int stage = 0; stage < S::kStages - 1; ++stage) stream.fetch(stage);

  TileGradient sum;
  sum.scale = from.scale;
  float2 bias = {0, 0};  // two outputs, over a quarter of each slab
  int stage = 0;
#pragma unroll 1
  for (int slab = 0; slab < slabs; ++slab) {
    wait_for_copies<S::kStages - 2>();
    __syncthreads();
    stream.fetch(stage == 0 ? S::kStages - 1 : stage - 1);
    const __half* d = slabs_memory + stage * 2 * S::kHalf;
    stage = stage == S::kStages - 1 ? 0 : stage + 1;
    const __half* x = d + S::kHalf;
    if (corner.input == 0) {
      const __half* from = d + threadIdx.x / 32 * (S::kSlab / 4) * S::kStride + lane * 2;
#pragma unroll
      for (int b = 0; b < S::kSlab / 4; ++b) {
        const float2 both =
            __half22float2(*reinterpret_cast<const __half2*>(from + b * S::kStride));
        bias.x += both.x;
        bias.y += both.y;
      }
    }
#pragma unroll
    for (int step = 0; step < S::kSlab; step += 16) {
      std::uint32_t a[2][4], b[2][4];
#pragma unroll
      for (int m = 0; m < 2; ++m)
        load_transposed(a[m], d + (step + lane % 8 + lane / 16 * 8) * S::kStride + row0 + m * 16 +
                                  lane / 8 % 2 * 8);
#pragma unroll
      for (int n = 0; n < 2; ++n)
        load_transposed(b[n], x + (step + lane % 8 + lane / 8 % 2 * 8) * S::kStride + column0 +
                                  n * 16 + lane / 16 * 8);
#pragma unroll
      for (int m = 0; m < 2; ++m)
#pragma unroll
        for (int n = 0; n < TileGradient::kColumnTiles; ++n)
          multiply_half(sum.weights[m][n], a[m], b[n / 2][n % 2 * 2], b[n / 2][n % 2 * 2 + 1]);
    }
  }
  wait_for_copies<0>();
  __syncthreads();
  if (corner.input == 0) {
    *reinterpret_cast<float2*>(memory + threadIdx.x / 32 * kSide + lane * 2) = bias;
    __syncthreads();
    if (threadIdx.x < kSide) {
      for (int part = 0; part < 4; ++part) sum.bias += memory[part * kSide + threadIdx.x];
    }
    __syncthreads();
  }
  return sum;
}

// Updates the fp16 copies of a layer's weights.
struct CopyLayer {
  __device__ void operator()(int o, int i, const float4& online, const float4& target) const {
    copy_weights(copies, layer, narrow, o, i, online, target);
  }
  const HalfCopies& copies;
  int layer;
  bool narrow;
};

// Makes the fp16 copies of some layers, by all blocks along x. has_output: the last of them is an
// output layer.
__device__ inline void copy_layers(const Network& net, const HalfCopies& copies,
                                   const LayerShape* layers, int count, bool has_output) {
  for (int l = 0; l < count; ++l) {
    const LayerShape layer = layers[l];
    const int parts = layer.stride / 4;
    for (int e = blockIdx.x * blockDim.x + threadIdx.x; e < layer.outputs * parts;
         e += gridDim.x * blockDim.x) {
      const int o = e / parts, i = e % parts * 4, from = layer.weights + o * layer.stride + i;
      copy_weights(copies, l, has_output && l == count - 1, o, i,
                   *reinterpret_cast<const float4*>(net.parameters + from),
                   *reinterpret_cast<const float4*>(net.target + from));
    }
  }
}

template <int kSlab>
__device__ void step_half_tile(const Agent& agent, const Network& net, const LayerShape& layer,
                               const HalfSummands& from, const Corner& corner, float* memory,
                               const CopyLayer& copy) {
  prefetch_tile(net, layer, corner);
  apply_gradient<kSlab / 16>(agent, net, layer, sum_half_tile<kSlab>(from, corner, memory), corner,
                             memory, copy);
}

}  // namespace ovde::cuda
