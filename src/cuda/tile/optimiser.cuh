// The gradients of a network's parameters, Adam and Polyak, in fp32.
#pragma once

#include "cuda/tile/product.cuh"

namespace ovde::cuda {

// A block has a tile of one layer's weights, kSide x kSide: their gradients over the batch, then
// Adam and Polyak. A gradient never leaves the chip. A warp has 32 rows and half of the columns.
constexpr int kSide = 64;
struct Step {
  static constexpr int kThreads = 2 * kSide, kColumns = kSide / 2;
  static constexpr int kSlab = 32, kStages = 3;  // samples at a time
  static constexpr int kStride = kSide + 8;      // without bank conflicts
  static constexpr int kHalf = kSlab * kStride;  // deltas, then inputs
  static constexpr int kBytes = kStages * 2 * kHalf * sizeof(float);
  static constexpr int kBlocks = 4;  // to a multiprocessor
};

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
  AdamOptions options;
  AdamCorrection correction;
  float polyak;
};

// Starts to copy a slab from row b0 on: kSide columns of the deltas and of the layer's input.
__device__ inline void fetch_batch(float* to, const float* delta, int delta_stride,
                                   const float* input, int input_stride, int first_output,
                                   int first_input, int b0) {
  using S = Step;
  constexpr int kParts = kSide / 4;
  const int column = threadIdx.x % kParts * 4;
#pragma unroll
  for (int which = 0; which < 2; ++which) {
    const int stride = which == 0 ? delta_stride : input_stride;
    const int at = (which == 0 ? first_output : first_input) + column;
    const float* from = (which == 0 ? delta : input) + (at < stride ? b0 * stride + at : 0);
#pragma unroll
    for (int row = threadIdx.x / kParts; row < S::kSlab; row += S::kThreads / kParts)
      copy_async(to + which * S::kHalf + row * S::kStride + column, from + row * stride,
                 at < stride);
  }
  commit_copies();
}

// The terms of the gradient of a layer's weights: rows of the gradients of its output and of its
// inputs, zero up to a whole slab.
struct Summands {
  const float* delta;
  const float* input;
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

template <bool kExact>
__device__ TileGradient sum_tile(const LayerShape& layer, const Summands& from,
                                 const Corner& corner, float* memory) {
  using S = Step;
  const float *delta = from.delta, *input = from.input;
  const int delta_stride = stride_of_deltas(layer.outputs), input_stride = from.input_stride;
  const int lane = threadIdx.x % 32;
  const int row0 = TileGradient::first_row(), column0 = TileGradient::first_column();

  const int slabs = (from.rows + S::kSlab - 1) / S::kSlab;
  const auto fetch = [&](int slab) {
    if (slab < slabs) {
      fetch_batch(memory + slab % S::kStages * 2 * S::kHalf, delta, delta_stride, input,
                  input_stride, corner.output, corner.input, slab * S::kSlab);
    } else {
      commit_copies();
    }
  };
  for (int slab = 0; slab < S::kStages - 1; ++slab) fetch(slab);

  TileGradient sum;
  sum.scale = from.scale;
  const bool has_bias = TileGradient::has_bias(corner);
  for (int slab = 0; slab < slabs; ++slab) {
    wait_for_copies<S::kStages - 2>();
    __syncthreads();
    fetch(slab + S::kStages - 1);
    const float* d = memory + slab % S::kStages * 2 * S::kHalf;
    const float* x = d + S::kHalf;
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
  }
  wait_for_copies<0>();
  __syncthreads();
  return sum;
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
      auto& [p, m, v, t] = values[j];
      adam(i + 0 < layer.inputs ? g.x : 0.0f, p.x, m.x, v.x, t.x);
      adam(i + 1 < layer.inputs ? g.y : 0.0f, p.y, m.y, v.y, t.y);
      adam(i + 2 < layer.inputs ? g.z : 0.0f, p.z, m.z, v.z, t.z);
      adam(i + 3 < layer.inputs ? g.w : 0.0f, p.w, m.w, v.w, t.w);
#pragma unroll
      for (int a = 0; a < 4; ++a)
        __stcs(reinterpret_cast<float4*>(arrays[a] + at[j]), values[j][a]);
      copy(corner.output + row + j * (S::kThreads / kParts), i, p, t);
    }
  }
  if (TileGradient::has_bias(corner) && corner.output + threadIdx.x < layer.outputs)
    adam(net, layer.bias + corner.output + threadIdx.x, sum.bias * sum.scale);
}

template <bool kExact, typename Copy = NoCopy>
__device__ void step_tile(const Agent& agent, const Network& net, const LayerShape& layer,
                          const Summands& from, const Corner& corner, float* memory,
                          const Copy& copy = {}) {
  prefetch_tile(net, layer, corner);
  apply_gradient<4>(agent, net, layer, sum_tile<kExact>(layer, from, corner, memory), corner,
                    memory, copy);
}

__device__ inline float sum_column(const float* rows, int stride, int column, int count) {
  float sum = 0;
#pragma unroll 16
  for (int r = 0; r < count; ++r) sum += rows[r * stride + column];
  return sum;
}

// Adam and Polyak on gain and shift of kThreads units of a layer, from rows of partial sums of
// their gradients.
__device__ inline void step_units(const Agent& agent, const Network& net, const LayerShape& layer,
                                  const float* by_gain, const float* by_shift, int rows,
                                  float scale, int first_unit) {
  const int f = first_unit + threadIdx.x, stride = stride_of_deltas(layer.outputs);
  if (f >= layer.outputs) return;
  const AdamStep adam(agent, net);
  adam(net, layer.gain + f, sum_column(by_gain, stride, f, rows) * scale);
  adam(net, layer.shift + f, sum_column(by_shift, stride, f, rows) * scale);
}

// Finds tile number `index` of some layers. False if there are fewer tiles; `index` is then reduced
// by their number.
template <typename Layer>
__device__ bool find_tile(const Layer* layers, int count, int& index, int& l, Corner& corner) {
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

__device__ inline Summands summands(const Trace& trace, const NetworkShape& shape, int l, int rows,
                                    float scale) {
  return {trace.delta[l], l == 0 ? trace.input : trace.hidden[l - 1],
          l == 0 ? trace.input_stride : shape.layer[l].stride, rows, scale};
}

// Adam and Polyak on tile number `index` of a network's layers, by the gradients of its trace times
// `scale`. False if there is none, as find_tile().
__device__ inline bool step_layers(const Agent& agent, const Network& net, const Trace& trace,
                                   const NetworkShape& shape, float scale, int& index,
                                   float* memory) {
  int l;
  Corner corner;
  if (!find_tile(shape.layer, shape.layers, index, l, corner)) return false;
  step_tile<true>(agent, net, shape.layer[l], summands(trace, shape, l, agent.train.batch, scale),
                  corner, memory);
  return true;
}

template <typename Layer>
int count_tiles(const Layer* layers, int count) {
  int tiles = 0;
  for (int l = 0; l < count; ++l)
    tiles += (layers[l].outputs + kSide - 1) / kSide * ((layers[l].stride + kSide - 1) / kSide);
  return tiles;
}

}  // namespace ovde::cuda
