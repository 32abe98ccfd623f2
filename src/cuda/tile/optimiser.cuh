// The gradients of a network's parameters, from fp32 or fp16 traces, Adam and Polyak, and the fp16
// copies of the new parameters.
#pragma once

#include "cuda/tile/fours.cuh"
#include "cuda/tile/product_fp16.cuh"

namespace ovde::cuda {

// A block has a tile of one layer's weights, kSide x kSide: their gradients over the batch, then
// Adam and Polyak. A gradient never leaves the chip. A warp has 32 rows and half of the columns.
constexpr int kSide = 64;
// Slabs of the traces: kRows samples at a time.
template <typename Number, int kRows>
struct StepSlabs {
  static constexpr int kSlab = kRows, kStages = 3;
  static constexpr int kStride = kSide + 8;      // without bank conflicts
  static constexpr int kHalf = kSlab * kStride;  // deltas, then inputs
  static constexpr int kBytes = kStages * 2 * kHalf * sizeof(Number);
  static_assert(kBytes >= kSide * (kSide + 4) * sizeof(float));  // for apply_gradient()
};
struct Step : StepSlabs<float, 32> {
  static constexpr int kThreads = 2 * kSide, kColumns = kSide / 2;
  static constexpr int kBlocks = 4;  // to a multiprocessor
};
// In fp16, slabs are larger where there are many rows.
template <int kRows>
using HalfStep = StepSlabs<__half, kRows>;

// Accurate to one or two units in the last place, in few instructions.
struct FastMath {
  __device__ float square_root(float x) const { return fast_square_root(x); }
  __device__ float divide(float a, float b) const { return __fdividef(a, b); }
};

// One step of Adam and Polyak, with its constants in registers.
struct AdamStep {
  __device__ AdamStep(const Agent& agent, const Network& net)
      : options(agent.train.adam), correction(net.step->adam), polyak(net.step->polyak) {}
  __device__ void operator()(float gradient, float& p, float& m, float& v, float& target) const {
    adam_update(options, correction, gradient, p, m, v, FastMath{});
    polyak_update(polyak, p, target);
  }
  __device__ void operator()(const Network& net, int at, float gradient) const {
    (*this)(gradient, net.parameters[at], net.first_moment[at], net.second_moment[at],
            net.target[at]);
  }
  // Four adjacent parameters, their moments and targets.
  __device__ void operator()(const float4& gradient, float4 (&values)[4]) const {
    for_each_of_four(*this, gradient, values[0], values[1], values[2], values[3]);
  }
  AdamOptions options;
  AdamCorrection correction;
  float polyak;
};

// The terms of the gradient of a layer's weights: rows of the gradients of its output and of its
// inputs, zero up to a whole slab.
template <typename Number>
struct Summands {
  const Number *delta, *input;
  int input_stride, rows;
  float scale;  // multiplies the sum
};

// The first output and input of a tile of weights.
struct Corner {
  int output, input;
};

// dW[o][i] = sum_b delta[b][o] input[b][i] of a tile, in the order of a warp's tensor-core tiles,
// and the gradient of the bias of output corner.output + threadIdx.x where has_bias().
struct TileGradient {
  static constexpr int kColumnTiles = Step::kColumns / 8;
  float weights[2][kColumnTiles][4] = {};
  float bias = 0;
  float scale = 1;  // still to be applied

  static __device__ int first_row() { return threadIdx.x / 64 * 32; }
  static __device__ int first_column() { return threadIdx.x / 32 % 2 * Step::kColumns; }
  static __device__ bool has_bias(const Corner& corner) {
    return corner.input == 0 && threadIdx.x < kSide;
  }
};

// Prefetches the parameters while their gradients are computed.
__device__ inline void prefetch_tile(const Network& net, const LayerShape& layer,
                                     const Corner& corner) {
  constexpr int kLines = kSide / 32;
  for (int c = threadIdx.x; c < kSide * kLines; c += Step::kThreads) {
    const int o = corner.output + c / kLines, i = corner.input + c % kLines * 32;
    if (o >= layer.outputs || i >= layer.stride) continue;
    for (const float* array : {net.parameters, net.first_moment, net.second_moment, net.target})
      prefetch(array + layer.weights + o * layer.stride + i);
  }
}

// Copies the slabs to shared memory, one after the other: kSide columns of the deltas and of the
// inputs. A thread has the same places in each.
template <typename Number, int kSlab>
class BatchStream {
  using S = StepSlabs<Number, kSlab>;

 public:
  __device__ BatchStream(Number* memory, const LayerShape& layer, const Summands<Number>& from,
                         const Corner& corner)
      : stride_{stride_of_deltas(layer.outputs), from.input_stride},
        row_(threadIdx.x / kParts),
        rows_(from.rows) {
    const int column = threadIdx.x % kParts * kLoad;
    to_ = memory + row_ * S::kStride + column;
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
  static constexpr int kLoad = 16 / sizeof(Number);  // numbers that a thread copies at a time
  static constexpr int kParts = kSide / kLoad, kRows = Step::kThreads / kParts;
  Number* to_;
  const Number* from_[2];
  int stride_[2];
  bool valid_[2];
  int row_, rows_;
};

// Calls visit(deltas, inputs) for each slab of a tile, in shared memory. Ends with a barrier.
template <int kSlab, typename Number, typename Visit>
__device__ void for_each_slab(const LayerShape& layer, const Summands<Number>& from,
                              const Corner& corner, float* memory, Visit&& visit) {
  using S = StepSlabs<Number, kSlab>;
  auto* slabs_memory = reinterpret_cast<Number*>(memory);
  const int slabs = (from.rows + S::kSlab - 1) / S::kSlab;
  BatchStream<Number, kSlab> stream(slabs_memory, layer, from, corner);
#pragma unroll
  for (int stage = 0; stage < S::kStages - 1; ++stage) stream.fetch(stage);
  int stage = 0;
#pragma unroll 1
  for (int slab = 0; slab < slabs; ++slab) {
    wait_for_copies<S::kStages - 2>();
    __syncthreads();
    stream.fetch(stage == 0 ? S::kStages - 1 : stage - 1);
    const Number* d = slabs_memory + stage * 2 * S::kHalf;
    stage = stage == S::kStages - 1 ? 0 : stage + 1;
    visit(d, d + S::kHalf);
  }
  wait_for_copies<0>();
  __syncthreads();
}

template <bool kExact>
__device__ TileGradient sum_tile(const LayerShape& layer, const Summands<float>& from,
                                 const Corner& corner, float* memory) {
  using S = Step;
  const int lane = threadIdx.x % 32;
  const int row0 = TileGradient::first_row(), column0 = TileGradient::first_column();
  TileGradient sum;
  sum.scale = from.scale;
  const bool has_bias = TileGradient::has_bias(corner);
  for_each_slab<S::kSlab>(layer, from, corner, memory, [&](const float* d, const float* x) {
    if (has_bias) {
#pragma unroll 8
      for (int b = 0; b < S::kSlab; ++b) sum.bias += d[b * S::kStride + threadIdx.x];
    }
#pragma unroll
    for (int step = 0; step < S::kSlab; step += 8) {
      Fragment<kExact, 4> a[2];
#pragma unroll
      for (int m = 0; m < 2; ++m) {
        const float* from = d + (step + lane % 4) * S::kStride + row0 + m * 16 + lane / 4;
        a[m].high[0] = __float_as_uint(from[0]);
        a[m].high[1] = __float_as_uint(from[8]);
        a[m].high[2] = __float_as_uint(from[4 * S::kStride]);
        a[m].high[3] = __float_as_uint(from[4 * S::kStride + 8]);
        a[m].split();
      }
#pragma unroll
      for (int n = 0; n < TileGradient::kColumnTiles; ++n) {
        const float* from = x + (step + lane % 4) * S::kStride + column0 + n * 8 + lane / 4;
        Fragment<kExact, 2> b;
        b.high[0] = __float_as_uint(from[0]);
        b.high[1] = __float_as_uint(from[4 * S::kStride]);
        b.split();
#pragma unroll
        for (int m = 0; m < 2; ++m) multiply(sum.weights[m][n], a[m], b, 0, 1);
      }
    }
  });
  return sum;
}

template <int kSlab>
__device__ TileGradient sum_half_tile(const LayerShape& layer, const Summands<__half>& from,
                                      const Corner& corner, float* memory) {
  using S = HalfStep<kSlab>;
  const int lane = threadIdx.x % 32;
  const int row0 = TileGradient::first_row(), column0 = TileGradient::first_column();
  TileGradient sum;
  sum.scale = from.scale;
  float2 bias = {0, 0};  // two outputs, over a quarter of each slab
  for_each_slab<kSlab>(layer, from, corner, memory, [&](const __half* d, const __half* x) {
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
  });
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

struct NoCopy {
  __device__ void operator()(int, int, const float4&, const float4&) const {}
};

// Adam and Polyak on a tile; calls copy(o, i, p, t) with W[o][i .. i + 3] and the target network's.
// kTogether: rows of four numbers in flight. Loads and stores are streamed past the cache: the
// parameters are not used again before the next update. No thread may still use `memory`.
template <int kTogether, typename Copy>
__device__ void apply_gradient(const Agent& agent, const Network& net, const LayerShape& layer,
                               const TileGradient& sum, const Corner& corner, float* memory,
                               const Copy& copy) {
  using S = Step;
  const AdamStep adam(agent, net);
  float* const arrays[] = {net.parameters, net.first_moment, net.second_moment, net.target};
  const int lane = threadIdx.x % 32;
  // through shared memory, so that the parameters are touched in whole rows
  constexpr int kStride = kSide + 4, kParts = kSide / 4;
#pragma unroll
  for (int m = 0; m < 2; ++m)
#pragma unroll
    for (int n = 0; n < TileGradient::kColumnTiles; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = TileGradient::first_row() + m * 16 + half * 8 + lane / 4,
                  column = TileGradient::first_column() + n * 8 + lane % 4 * 2;
        const float* pair = &sum.weights[m][n][2 * half];
        *reinterpret_cast<float2*>(memory + row * kStride + column) =
            make_float2(pair[0] * sum.scale, pair[1] * sum.scale);
      }
  __syncthreads();
  const int column = threadIdx.x % kParts * 4, i = corner.input + column;
  for (int row = threadIdx.x / kParts; row < kSide; row += S::kThreads / kParts * kTogether) {
    float4 values[kTogether][4];
    int at[kTogether];
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
      const int o = corner.output + row + j * (S::kThreads / kParts);
      at[j] = o < layer.outputs && i < layer.stride ? layer.weights + o * layer.stride + i : -1;
      if (at[j] < 0) continue;
#pragma unroll
      for (int a = 0; a < 4; ++a)
        values[j][a] = __ldcs(reinterpret_cast<const float4*>(arrays[a] + at[j]));
    }
#pragma unroll
    for (int j = 0; j < kTogether; ++j) {
      if (at[j] < 0) continue;
      const float4 g = *reinterpret_cast<const float4*>(
          memory + (row + j * (S::kThreads / kParts)) * kStride + column);
      const auto masked = [&](int c, float x) { return i + c < layer.inputs ? x : 0.0f; };
      adam({masked(0, g.x), masked(1, g.y), masked(2, g.z), masked(3, g.w)}, values[j]);
#pragma unroll
      for (int a = 0; a < 4; ++a)
        __stcs(reinterpret_cast<float4*>(arrays[a] + at[j]), values[j][a]);
      copy(corner.output + row + j * (S::kThreads / kParts), i, values[j][0], values[j][3]);
    }
  }
  if (TileGradient::has_bias(corner) && corner.output + threadIdx.x < layer.outputs)
    adam(net, layer.bias + corner.output + threadIdx.x, sum.bias * sum.scale);
}

template <bool kExact, typename Copy = NoCopy>
__device__ void step_tile(const Agent& agent, const Network& net, const LayerShape& layer,
                          const Summands<float>& from, const Corner& corner, float* memory,
                          const Copy& copy = {}) {
  prefetch_tile(net, layer, corner);
  apply_gradient<4>(agent, net, layer, sum_tile<kExact>(layer, from, corner, memory), corner,
                    memory, copy);
}

template <int kSlab>
__device__ void step_half_tile(const Agent& agent, const Network& net, const LayerShape& layer,
                               const Summands<__half>& from, const Corner& corner, float* memory,
                               const CopyLayer& copy) {
  prefetch_tile(net, layer, corner);
  apply_gradient<kSlab / 16>(agent, net, layer, sum_half_tile<kSlab>(layer, from, corner, memory),
                             corner, memory, copy);
}

// Finds tile number `index` of some layers. False if there are fewer tiles; `index` is then reduced
// by their number.
__device__ inline bool find_tile(const LayerShape* layers, int count, int& index, int& l,
                                 Corner& corner) {
  for (l = 0; l < count; ++l) {
    const int down = (layers[l].outputs + kSide - 1) / kSide,
              across = (layers[l].stride + kSide - 1) / kSide;
    if (index < down * across) {
      corner = {index / across * kSide, index % across * kSide};
      return true;
    }
    index -= down * across;
  }
  return false;
}

// Adam and Polyak on tile number `index` of a network's layers, by the gradients of its trace times
// `scale`. False if there is none, as find_tile(). kExact: in fp32, without copies.
inline constexpr int kBatchSlab = 32;  // samples in fp16
template <bool kExact>
__device__ bool step_layers(const Agent& agent, const Network& net, const HalfCopies& copies,
                            const Trace& trace, const NetworkShape& shape, float scale, int& index,
                            float* memory) {
  int l;
  Corner corner;
  if (!find_tile(shape.layer, shape.layers, index, l, corner)) return false;
  const LayerShape& layer = shape.layer[l];
  const int stride = l == 0 ? trace.input_stride : layer.stride, rows = agent.train.batch;
  if constexpr (kExact) {
    const float* input = l == 0 ? trace.input : trace.hidden[l - 1];
    step_tile<true>(agent, net, layer, {trace.delta[l], input, stride, rows, scale}, corner,
                    memory);
  } else {
    const __half* input = l == 0 ? trace.half_input : numbers<false>(trace.hidden[l - 1]);
    step_half_tile<kBatchSlab>(agent, net, layer,
                               {numbers<false>(trace.delta[l]), input, stride, rows, scale}, corner,
                               memory, CopyLayer{copies, l, l == shape.layers - 1});
  }
  return true;
}

}  // namespace ovde::cuda
