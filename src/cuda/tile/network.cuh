// Forward and backward passes of a network on a tile of samples, in fp32 (product.cuh).
#pragma once

#include <type_traits>

#include "cuda/tile/layer_norm.cuh"
#include "cuda/tile/product_fp16.cuh"
#include "cuda/tile/warp.cuh"

namespace ovde::cuda {

__device__ inline int multiple_of_32(int n) { return (n + 31) & ~31; }

// A tile, and which hidden units are above zero: a bit for each number of a lane.
template <int kSize>
struct NetworkTile : Tile<kSize> {
  float part[1][Tile<kSize>::kRows][4];  // for sum_rows()
  std::uint32_t active[kMostHidden][Tile<kSize>::kTiles][Tile<kSize>::kThreads];
  static constexpr int kActiveWords = kMostHidden * Tile<kSize>::kTiles * Tile<kSize>::kThreads;
};

// The block's shared memory as a T.
template <typename T>
__device__ T& shared_as() {
  OVDE_BLOCK_MEMORY(memory);
  return *reinterpret_cast<T*>(memory);
}

// Calls work(norm) with a constant, whether hidden layers are normalised, so that each case is
// compiled on its own.
template <typename Work>
__device__ void with_norm(const NetworkShape& shape, Work&& work) {
  if (shape.norm) {
    work(std::true_type());
  } else {
    work(std::false_type());
  }
}

// ---- filling and reading x: a warp takes adjacent whole rows, its lanes their columns

template <typename T>
__device__ int first_row_of_warp() {
  return threadIdx.x / 32 * T::kEach;
}

// x[r][i] = value(r, i) for i < width; all values of a column are loaded before the first is used.
template <typename T, typename Value>
__device__ void fill(T& tile, int width, Value&& value) {
  constexpr int kEach = T::kEach;
  const int row = first_row_of_warp<T>();
  for (int i = threadIdx.x % 32; i < width; i += 32) {
    float values[kEach];
#pragma unroll
    for (int j = 0; j < kEach; ++j) values[j] = value(row + j, i);
#pragma unroll
    for (int j = 0; j < kEach; ++j) tile.put(row + j, i, values[j]);
  }
}

// Calls visit(r, lane) for every row; lanes are columns.
template <int kSize, typename Visit>
__device__ void for_each_row(Visit&& visit) {
#pragma unroll
  for (int j = 0; j < Tile<kSize>::kEach; ++j)
    visit(first_row_of_warp<Tile<kSize>>() + j, threadIdx.x % 32);
}

// Calls visit(r, i, turn) for columns i < n <= 32 of every row. The lanes take the numbers in
// turns, row after row, so that none is idle where rows are short.
template <int kSize, typename Visit>
__device__ void for_each_number(int n, Visit&& visit) {
  constexpr int kEach = Tile<kSize>::kEach;
  const float share = 1.0f / n;
#pragma unroll
  for (int turn = 0; turn < kEach; ++turn) {
    const int at = threadIdx.x % 32 + 32 * turn;
    if (at >= kEach * n) break;
    const int j = static_cast<int>((at + 0.5f) * share);
    visit(first_row_of_warp<Tile<kSize>>() + j, at - j * n, turn);
  }
}

// Calls visit(r, sum) once for every row with the sum of value(r, i) over i < n, in a fixed order.
template <int kSize, typename Value, typename Visit>
__device__ void sum_each_row(int n, Value&& value, Visit&& visit) {
  constexpr int kLanes = 32 / Tile<kSize>::kEach;  // for each row
  const int lane = threadIdx.x % 32, row = first_row_of_warp<Tile<kSize>>() + lane / kLanes;
  float sum = 0;
  for (int i = lane % kLanes; i < n; i += kLanes) sum += value(row, i);
#pragma unroll
  for (int other = 1; other < kLanes; other *= 2) sum += __shfl_xor_sync(~0u, sum, other);
  if (lane % kLanes == 0) visit(row, sum);
}

// Writes the first n columns of the results, row after row.
template <int kSize, typename T>
__device__ void keep_quantiles(T& tile, int n, float* to) {
  for_each_number<kSize>(n, [&](int r, int i, int) { to[r * n + i] = tile.result(r, i); });
}

// ---- weights

template <int kSize>
__device__ void fetch_bias(Tile<kSize>& tile, const float* parameters, const LayerShape& layer,
                           int slot) {
  const int i = threadIdx.x * 4;
  if (i < kMostWidth)
    copy_async(&tile.bias[slot][i], parameters + (i < layer.outputs ? layer.bias + i : 0),
               i < layer.outputs);
}

// ---- passes

// Starts to copy the first weights of forward(); then the caller fills x.
template <int kSize>
__device__ void begin_forward(Tile<kSize>& tile, const PassParameters& net,
                              const NetworkShape& shape) {
  const LayerShape layer = shape.layer[0];
  fetch_bias(tile, net.values, layer, 0);
  fetch_first<Pass::forward>(tile, Weights(net.values, layer));
}

// Applies gain and shift to a hidden layer's normalised sums, which are kept in `normal` unless it
// is null.
template <int kSize>
__device__ void gain_and_shift(const float* parameters, const LayerShape& layer, float* normal,
                               int stride, int first_sample,
                               float (&out)[Tile<kSize>::kTiles][8][4]) {
  for_each_group<kSize>([&](const auto& group) {
    const Affine affine(parameters, layer, group.column);
    group.each([&](const auto& at, int m, int) {
      float n[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        n[i] = at(out[m], i);
        at(out[m], i) = affine(i, n[i]);
      }
      if (normal != nullptr && at.column < stride)
        store8(normal + (first_sample + at.row) * stride + at.column, n);
    });
  });
}

// Adds the bias, where there is one, and applies the ReLU, unless !is_relu. Leaves the layer's
// output in x and, unless `keep` is null, in its rows there; kBack: notes which units are above
// zero, for layer l. Numbers beyond the layer are zero.
template <bool kBias, bool kBack, int kSize>
__device__ void store_layer(NetworkTile<kSize>& tile, int l, const float* bias, bool is_relu,
                            float* keep, int stride,
                            const float (&out)[Tile<kSize>::kTiles][8][4]) {
#pragma unroll
  for (int m = 0; m < Tile<kSize>::kTiles; ++m) {
    std::uint32_t below = 0;  // the signs, shifted in one after the other
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      const Octet<kSize> at(m, part % 2, part / 2);
      float value[8], b[8] = {};
      if constexpr (kBias) load8(b, bias + at.column);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        const float sum = kBias ? at(out[m], i) + b[i] : at(out[m], i);
        value[i] = is_relu ? relu(sum) : sum;
        if constexpr (kBack) below = __funnelshift_l(__float_as_uint(sum), below, 1);
      }
      store8(&tile.x[at.row][at.column], value);
      if (keep != nullptr && at.column < stride) store8(keep + at.row * stride + at.column, value);
    }
    if (kBack && is_relu) tile.active[l][m][threadIdx.x] = ~below;
  }
}

// From the input in x (zero up to a multiple of 32 columns) to the network's output in the results.
// With `kept`, row r of hidden layer l's output goes to kept[l] + (first_sample + r) * stride.
// kNorm: hidden layers are normalised; `norm`, unless it is null, keeps the numbers that backward()
// needs. kBack: backward() follows.
template <bool kNorm, bool kBack = true, int kSize>
__device__ void forward(NetworkTile<kSize>& tile, const PassParameters& net,
                        const NetworkShape& shape, int first_sample, float* const* kept,
                        const NormTrace* norm) {
  const float* parameters = net.values;
  float out[Tile<kSize>::kTiles][8][4];
  const int last = shape.layers - 1;
  for (int l = 0; l < last; ++l) {
    const LayerShape layer = shape.layer[l], next = shape.layer[l + 1];
    float* keep =
        kept != nullptr ? kept[l] + static_cast<std::size_t>(first_sample) * next.stride : nullptr;
    product<Pass::forward>(tile, Weights(parameters, layer), out);
    fetch_bias(tile, parameters, next, (l + 1) % 2);
    if (l + 1 < last) {
      fetch_first<Pass::forward>(tile, Weights(parameters, next));
    } else {
      fetch_narrow(tile, parameters + next.weights, next.stride, next.outputs, next.stride);
    }

    const float* bias = tile.bias[l % 2];
    if constexpr (kNorm) {
      normalise<kSize>(tile, bias, layer.outputs, Tile<kSize>::kRows, out,
                       [&](int row, float scale) {
                         if (norm != nullptr) norm->scale[l][first_sample + row] = scale;
                       });
      gain_and_shift<kSize>(parameters, layer, norm != nullptr ? norm->normal[l] : nullptr,
                            next.stride, first_sample, out);
    }
    store_layer<!kNorm, kBack>(tile, l, bias, true, keep, next.stride, out);
  }

  const LayerShape layer = shape.layer[last];
  wait_for_copies<0>();
  __syncthreads();
  narrow_product(tile, layer.outputs, layer.stride, tile.bias[last % 2]);
}

template <typename T>
__device__ void forward(T& tile, const PassParameters& net, const NetworkShape& shape,
                        int first_sample, float* const* kept) {
  forward<false>(tile, net, shape, first_sample, kept, nullptr);
}

// A forward pass that no backward pass follows.
template <bool kNorm, typename T>
__device__ void evaluate(T& tile, const PassParameters& net, const NetworkShape& shape) {
  forward<kNorm, false>(tile, net, shape, 0, nullptr, nullptr);
}

// Starts to copy the first weights of backward(). No thread may still read the weights' memory.
template <int kSize>
__device__ void begin_backward(Tile<kSize>& tile, const PassParameters& net,
                               const NetworkShape& shape) {
  const LayerShape layer = shape.layer[shape.layers - 1];
  fetch_first<Pass::backward>(tile, Weights(net.values, layer));
}

// Whether number i of a lane's octet `part` was above zero.
__device__ inline bool is_active(std::uint32_t active, int part, int i) {
  return active >> (31 - 8 * part - i) & 1;
}

// Sums eight columns over the kSummedRows rows of the lanes, in a fixed order.
__device__ inline void sum_columns(float (&v)[8]) {
#pragma unroll
  for (int i = 0; i < 8; ++i) {
#pragma unroll
    for (int offset = 4; offset < 32; offset *= 2) v[i] += __shfl_xor_sync(~0u, v[i], offset);
  }
}

// From the gradient of hidden layer l's output to that of its sums, through the active units and
// the normalisation. kParameters: keeps the gradients of gain and shift.
template <bool kParameters, int kSize>
__device__ void back_through_norm(NetworkTile<kSize>& tile, const float* parameters,
                                  const NormTrace& trace, int l, const LayerShape& layer,
                                  int stride, int first_sample,
                                  float (&out)[Tile<kSize>::kTiles][8][4]) {
  const auto load_normal = [&](float(&n)[8], const Octet<kSize>& at) {
    if (at.column < stride) {
      load8(n, trace.normal[l] + (first_sample + at.row) * stride + at.column);
    } else {
#pragma unroll
      for (float& x : n) x = 0;
    }
  };
  NormGradient<kSize> norm;
#pragma unroll
  for (int group = 0; group < 2; ++group) {
    const Affine affine(parameters, layer, Octet<kSize>(0, 0, group).column);
#pragma unroll
    for (int m = 0; m < Tile<kSize>::kTiles; ++m) {
      const std::uint32_t active = tile.active[l][m][threadIdx.x];
      float by_gain[8] = {}, by_shift[8] = {};
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const Octet<kSize> at(m, half, group);
        float n[8];
        load_normal(n, at);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          float& d = at(out[m], i);
          d = is_active(active, half + 2 * group, i) ? d : 0.0f;
          if (kParameters) {
            by_gain[i] = __fmaf_rn(d, n[i], by_gain[i]);
            by_shift[i] += d;
          }
          // not fused with the sum: the same for every size of tile
          d = __fmul_rn(d, affine.gain[i]);
          norm.add(m, half, d, n[i]);
        }
      }
      if (!kParameters) continue;
      sum_columns(by_gain);
      sum_columns(by_shift);
      const Octet<kSize> at(m, 0, group);
      if (threadIdx.x % 32 >= 4 || at.column >= stride) continue;
      const int to = (first_sample + at.row) / kSummedRows * stride + at.column;
      store8(trace.by_gain[l] + to, by_gain);
      store8(trace.by_shift[l] + to, by_shift);
    }
  }
  norm.finish(tile, layer.outputs, trace.scale[l] + first_sample, true);
  norm.apply(load_normal, out);
}

// Leaves the gradient of hidden layer l's sums in x and, unless `keep` is null, in its rows there;
// kMasked: zero for the units that were not active.
template <int kSize, bool kMasked, typename T, typename Number>
__device__ void store_deltas(T& tile, int l, Number* keep, int stride,
                             const float (&out)[Tile<kSize>::kTiles][8][4]) {
#pragma unroll
  for (int m = 0; m < Tile<kSize>::kTiles; ++m) {
    const std::uint32_t active = kMasked ? tile.active[l][m][threadIdx.x] : ~0u;
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      const Octet<kSize> at(m, part % 2, part / 2);
      float value[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) value[i] = is_active(active, part, i) ? at(out[m], i) : 0.0f;
      store8(&tile.x[at.row][at.column], value);
      if (keep != nullptr && at.column < stride) store8(keep + at.row * stride + at.column, value);
    }
  }
}

// From the gradient of the output in x (zero up to a multiple of 32 columns) to that of the first
// layer's output in x, through the active units. `kept` and `norm` as in forward().
template <bool kNorm, int kSize>
__device__ void backward(NetworkTile<kSize>& tile, const PassParameters& net,
                         const NetworkShape& shape, int first_sample, float* const* kept,
                         const NormTrace* norm) {
  const float* parameters = net.values;
  float out[Tile<kSize>::kTiles][8][4];
  for (int l = shape.layers - 1; l > 0; --l) {
    const LayerShape layer = shape.layer[l], next = shape.layer[l - 1];
    float* keep = kept != nullptr
                      ? kept[l - 1] + static_cast<std::size_t>(first_sample) * layer.stride
                      : nullptr;
    product<Pass::backward>(tile, Weights(parameters, layer), out);
    if (l > 1) fetch_first<Pass::backward>(tile, Weights(parameters, next));
    if constexpr (kNorm) {
      if (kept != nullptr) {
        back_through_norm<true>(tile, parameters, *norm, l - 1, next, layer.stride, first_sample,
                                out);
      } else {
        back_through_norm<false>(tile, parameters, *norm, l - 1, next, layer.stride, first_sample,
                                 out);
      }
    }

    store_deltas<kSize, !kNorm>(tile, l - 1, keep, layer.stride, out);
  }
}

template <typename T>
__device__ void backward(T& tile, const PassParameters& net, const NetworkShape& shape,
                         int first_sample, float* const* kept) {
  backward<false>(tile, net, shape, first_sample, kept, nullptr);
}

// ---- active units, for a backward pass in another kernel

template <typename T>
__device__ void save_active(const T& tile, int hidden, std::uint32_t* to) {
  for (int l = 0; l < hidden; ++l) {
#pragma unroll
    for (int m = 0; m < T::kTiles; ++m)
      to[(l * T::kTiles + m) * T::kThreads + threadIdx.x] = tile.active[l][m][threadIdx.x];
  }
}
template <typename T>
__device__ void load_active(T& tile, int hidden, const std::uint32_t* from) {
  for (int l = 0; l < hidden; ++l) {
#pragma unroll
    for (int m = 0; m < T::kTiles; ++m)
      tile.active[l][m][threadIdx.x] = from[(l * T::kTiles + m) * T::kThreads + threadIdx.x];
  }
}

// ---- networks whose output layer may be as wide as the hidden ones, without normalised layers

// After begin_forward(), from the input in x (zero up to a multiple of 32 columns) to the output of
// the shape's last layer in x, zero beyond it. kRelu: the last layer has a ReLU too. `kept` as in
// forward(), for every layer with a ReLU. Ends with a barrier.
template <bool kRelu, int kSize>
__device__ void forward_wide(NetworkTile<kSize>& tile, const float* parameters,
                             const NetworkShape& shape, int first_sample, float* const* kept) {
  float out[Tile<kSize>::kTiles][8][4];
  for (int l = 0; l < shape.layers; ++l) {
    const LayerShape layer = shape.layer[l];
    const bool last = l == shape.layers - 1, is_relu = kRelu || !last;
    const int stride = stride_of_deltas(layer.outputs);
    float* keep = kept != nullptr && is_relu
                      ? kept[l] + static_cast<std::size_t>(first_sample) * stride
                      : nullptr;
    product<Pass::forward>(tile, Weights(parameters, layer), out);
    if (!last) {
      fetch_bias(tile, parameters, shape.layer[l + 1], (l + 1) % 2);
      fetch_first<Pass::forward>(tile, Weights(parameters, shape.layer[l + 1]));
    }
    store_layer<true, true>(tile, l, tile.bias[l % 2], is_relu, keep, stride, out);
  }
  __syncthreads();
}

}  // namespace ovde::cuda
