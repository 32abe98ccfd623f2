// Forward and backward passes of a network on a tile of samples, in fp32 (product.cuh) or in fp16
// (product_fp16.cuh).
#pragma once

#include <type_traits>

#include "cuda/tile/layer_norm.cuh"
#include "cuda/tile/product_fp16.cuh"
#include "cuda/tile/warp.cuh"

namespace ovde::cuda {

__device__ inline int multiple_of_32(int n) { return (n + 31) & ~31; }

// kExact: in fp32, otherwise in fp16.
template <bool kExact, int kSize>
struct NetworkTile : std::conditional_t<kExact, Tile<kSize>, HalfTile<kSize>> {
  using T = Tile<kSize>;
  float part[2][T::kRows][4];  // for sum_rows()
  // the layers' vectors, zero beyond their units
  float bias[kMostHidden][kMostWidth], gain[kMostHidden][kMostWidth],
      shift[kMostHidden][kMostWidth];
  float scale[kMostHidden][T::kRows];  // 1 / sqrt(variance + epsilon) of each normalisation
  // which hidden units are above zero: a bit for each number of a lane
  std::uint32_t active[kMostHidden][T::kTiles][T::kThreads];
  static constexpr int kActiveWords = kMostHidden * T::kTiles * T::kThreads;
};

inline constexpr int kLeastShared = 99 * 1024;  // a block's shared memory on every GPU
static_assert(sizeof(NetworkTile<false, 2>) <= kLeastShared &&
              sizeof(NetworkTile<true, 0>) <= kLeastShared);

// The blocks of a precision that fit on a multiprocessor.
template <bool kExact>
constexpr int kBlocks = kExact ? 1 : 2;

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

// Calls visit(r, i) for columns i < n of every row.
template <int kSize, typename Visit>
__device__ void for_each_place(int n, Visit&& visit) {
  for (int i = threadIdx.x % 32; i < n; i += 32)
    for_each_row<kSize>([&](int r, int) { visit(r, i); });
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

template <bool kExact>
__device__ auto weights_of(const PassParameters& net, const LayerShape* layers, int l) {
  const LayerShape& layer = layers[l];
  if constexpr (kExact) {
    return Weights(net.values, layer);
  } else {
    return HalfWeights{net.forward[l], net.backward[l], layer.outputs, layer.stride};
  }
}

// Starts to copy the first of bias, gain and shift (`vectors` of them) of layers first .. last - 1
// to the tile's arrays.
template <typename T>
__device__ void fetch_vectors(T& tile, const float* parameters, const LayerShape* layers, int first,
                              int last, int vectors) {
  constexpr int kParts = kMostWidth / 4;
  const int i = threadIdx.x % kParts * 4;
  for (int v = vectors * first + threadIdx.x / kParts; v < vectors * last;
       v += T::kThreads / kParts) {
    const int l = v / vectors, which = v % vectors;
    const LayerShape& layer = layers[l];
    float* to = which == 0 ? tile.bias[l] : which == 1 ? tile.gain[l] : tile.shift[l];
    const int from = which == 0 ? layer.bias : which == 1 ? layer.gain : layer.shift;
    const bool valid = i < layer.outputs;
    copy_async(to + i, parameters + (valid ? from + i : 0), valid);
  }
}

// Waits for vectors whose copies began with the first slab of a layer.
template <typename T>
__device__ void wait_for_vectors(T&) {
  if constexpr (sizeof(T::x[0][0]) == sizeof(float)) return;  // product() waits
  wait_for_copies<T::kStages - 2>();
  __syncthreads();
}

// ---- passes

// Starts to copy the vectors of the first `layers` layers and the first weights of forward(); then
// the caller fills x.
template <bool kExact, int kSize>
__device__ void begin_forward(NetworkTile<kExact, kSize>& tile, const PassParameters& net,
                              const NetworkShape& shape, int layers) {
  fetch_vectors(tile, net.values, shape.layer, 0, layers, shape.norm ? 3 : 1);
  fetch_first<Pass::forward>(tile, weights_of<kExact>(net, shape.layer, 0));
}
template <typename T>
__device__ void begin_forward(T& tile, const PassParameters& net, const NetworkShape& shape) {
  begin_forward(tile, net, shape, shape.layers - 1);
}

// From the sums of layer l (normalised: kNorm) to its output: applies gain and shift (kNorm), then
// the ReLU (is_relu). Leaves the output in x and in the rows of `keep`, and normalised sums in
// those of `normal`; either may be null. kBack: notes which units are above zero.
template <bool kNorm, bool kBack, bool kExact, int kSize>
__device__ void store_layer(NetworkTile<kExact, kSize>& tile, int l, bool is_relu, float* keep,
                            float* normal, int stride, int first_sample,
                            const float (&out)[Tile<kSize>::kTiles][8][4]) {
  std::uint32_t below[Tile<kSize>::kTiles] = {};  // the signs, shifted in one after the other
  for_each_group<kSize>([&](const auto& group) {
    float gain[8], shift[8];
    if constexpr (kNorm) {
      load8(gain, tile.gain[l] + group.column);
      load8(shift, tile.shift[l] + group.column);
    }
    group.each([&](const auto& at, int m, int) {
      float value[8], n[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        n[i] = at(out[m], i);
        const float sum = kNorm ? n[i] * gain[i] + shift[i] : n[i];  // beyond the layer: zero
        value[i] = is_relu ? relu(sum) : sum;
        if constexpr (kBack) below[m] = __funnelshift_l(__float_as_uint(sum), below[m], 1);
      }
      store8(&tile.x[at.row][at.column], value);
      if (at.column >= stride) return;
      const int to = (first_sample + at.row) * stride + at.column;
      if (keep != nullptr) store8(numbers<kExact>(keep) + to, value);
      if (kNorm && normal != nullptr) store8(numbers<kExact>(normal) + to, n);
    });
  });
  if constexpr (kBack) {
#pragma unroll
    for (int m = 0; m < Tile<kSize>::kTiles; ++m) {
      if (is_relu) tile.active[l][m][threadIdx.x] = ~below[m];
    }
  }
}

// From the input in x (zero up to a multiple of 32 columns) to the network's output in the results.
// With `kept`, row r of hidden layer l's output goes to kept[l] + (first_sample + r) * stride.
// kNorm: hidden layers are normalised; `norm`, unless it is null, keeps the numbers that backward()
// needs. kBack: backward() follows.
template <bool kNorm = false, bool kBack = true, bool kExact, int kSize>
__device__ void forward(NetworkTile<kExact, kSize>& tile, const PassParameters& net,
                        const NetworkShape& shape, int first_sample, float* const* kept,
                        const NormTrace* norm = nullptr) {
  float out[Tile<kSize>::kTiles][8][4];
  const int last = shape.layers - 1;
  const LayerShape& output = shape.layer[last];
  wait_for_vectors(tile);
  for (int l = 0; l < last; ++l) {
    const int stride = shape.layer[l + 1].stride;
    product<Pass::forward>(tile, weights_of<kExact>(net, shape.layer, l), out);
    if (l + 1 < last) {
      fetch_first<Pass::forward>(tile, weights_of<kExact>(net, shape.layer, l + 1));
    } else if constexpr (kExact) {
      fetch_narrow(tile, net.values + output.weights, output.stride, output.outputs, output.stride);
    } else {
      fetch_narrow(tile, net.forward[last], kMostWidth, output.outputs,
                   multiple_of_32(output.stride));
    }
    if constexpr (kNorm) {
      normalise<kExact, kSize>(tile, tile.bias[l], shape.layer[l].outputs, Tile<kSize>::kRows, true,
                               out, [&](int row, float scale) { tile.scale[l][row] = scale; });
    } else {
      add_bias<kSize>(tile.bias[l], out);
    }
    store_layer<kNorm, kBack>(tile, l, true, kept != nullptr ? kept[l] : nullptr,
                              norm != nullptr ? norm->normal[l] : nullptr, stride, first_sample,
                              out);
  }
  wait_for_copies<0>();
  __syncthreads();
  narrow_product(tile, output.outputs, output.stride, net.values + output.bias);
}

// A forward pass that no backward pass follows.
template <bool kNorm, typename T>
__device__ void evaluate(T& tile, const PassParameters& net, const NetworkShape& shape) {
  forward<kNorm, false>(tile, net, shape, 0, nullptr);
}

// Starts to copy the first weights of backward(). No thread may still read the weights' memory.
template <bool kExact, int kSize>
__device__ void begin_backward(NetworkTile<kExact, kSize>& tile, const PassParameters& net,
                               const NetworkShape& shape) {
  fetch_first<Pass::backward>(tile, weights_of<kExact>(net, shape.layer, shape.layers - 1));
}

// Whether number i of a lane's octet `part` was above zero.
__device__ inline bool is_active(std::uint32_t active, int part, int i) {
  return active >> (31 - 8 * part - i) & 1;
}

// Starts to copy hidden layer l's normalised sums, which forward() has kept, to x.
template <bool kExact, int kSize>
__device__ void fetch_normal(NetworkTile<kExact, kSize>& tile, const NormTrace& trace, int l,
                             int stride, int first_sample) {
  using T = Tile<kSize>;
  constexpr int kLoad = 16 / sizeof(tile.x[0][0]), kParts = kMostWidth / kLoad;
  const int column = threadIdx.x % kParts * kLoad;
  const bool valid = column < stride;  // zero beyond
  const auto* from =
      numbers<kExact>(trace.normal[l]) + first_sample * stride + (valid ? column : 0);
#pragma unroll
  for (int row = threadIdx.x / kParts; row < T::kRows; row += T::kThreads / kParts)
    copy_async(&tile.x[row][column], from + row * stride, valid);
  commit_copies();
}

// From the gradient of hidden layer l's output to that of its sums, through the active units and
// the normalisation, with the normalised sums in x. kParameters: keeps the gradients of gain and
// shift.
template <bool kParameters, bool kExact, int kSize>
__device__ void back_through_norm(NetworkTile<kExact, kSize>& tile, const NormTrace& trace, int l,
                                  const LayerShape& layer, int stride, int first_sample,
                                  float (&out)[Tile<kSize>::kTiles][8][4]) {
  const auto load_normal = [&](float(&n)[8], const Octet<kSize>& at) {
    load8(n, &tile.x[at.row][at.column]);
  };
  NormGradient<kSize> norm;
  for_each_group<kSize>([&](const auto& group) {
    float gain[8];
    load8(gain, tile.gain[l] + group.column);
    UnitSums sums;
    group.each([&](const auto& at, int m, int half) {
      const std::uint32_t active = tile.active[l][m][threadIdx.x];
      float n[8];
      load_normal(n, at);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        float& d = at(out[m], i);
        d = is_active(active, half + 2 * group.number, i) ? d : 0.0f;
        if (kParameters) sums.add(i, d, n[i]);
        // fp32: not fused with the sum, so that it is the same for every size of tile
        d = kExact ? __fmul_rn(d, gain[i]) : d * gain[i];
        norm.add(m, half, d, n[i]);
      }
      if (!kParameters || half == 0) return;
      const int to = (first_sample + at.row) / kSummedRows * stride;
      sums.template write<kExact ? 4 : 16>(trace.by_gain[l] + to, trace.by_shift[l] + to, at.column,
                                           stride);
      sums = UnitSums();
    });
  });
  norm.finish(tile, layer.outputs, tile.scale[l], true);
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
template <bool kNorm = false, bool kExact, int kSize>
__device__ void backward(NetworkTile<kExact, kSize>& tile, const PassParameters& net,
                         const NetworkShape& shape, int first_sample, float* const* kept,
                         const NormTrace* norm = nullptr) {
  float out[Tile<kSize>::kTiles][8][4];
  for (int l = shape.layers - 1; l > 0; --l) {
    const int stride = shape.layer[l].stride;
    product<Pass::backward>(tile, weights_of<kExact>(net, shape.layer, l), out);
    if constexpr (kNorm) fetch_normal(tile, *norm, l - 1, stride, first_sample);
    if (l > 1) fetch_first<Pass::backward>(tile, weights_of<kExact>(net, shape.layer, l - 1));
    if constexpr (kNorm) {
      if (l > 1) {
        wait_for_copies<NetworkTile<kExact, kSize>::kStages - 1>();
      } else {
        wait_for_copies<0>();
      }
      __syncthreads();
      if (kept != nullptr) {
        back_through_norm<true>(tile, *norm, l - 1, shape.layer[l - 1], stride, first_sample, out);
      } else {
        back_through_norm<false>(tile, *norm, l - 1, shape.layer[l - 1], stride, first_sample, out);
      }
    }
    auto* keep = kept != nullptr ? numbers<kExact>(kept[l - 1]) + first_sample * stride : nullptr;
    store_deltas<kSize, !kNorm>(tile, l - 1, keep, stride, out);
  }
}

// From the gradient of the first layer's sums in x (zero up to a multiple of 32 columns) to that of
// the action in the results. No thread may still read the weights' memory. Ends with a barrier.
template <typename T>
__device__ void to_actions(T& tile, const float* parameters, const LayerShape& layer,
                           int observations, int actions) {
  // the weights at the action's inputs, transposed
  const float* weights = parameters + layer.weights + threadIdx.x * layer.stride + observations;
  for (int d = 0; d < actions && threadIdx.x < kMostWidth; ++d) {
    store(tile.weights[d * T::kStride + threadIdx.x],
          threadIdx.x < layer.outputs ? __ldg(weights + d) : 0.0f);
  }
  __syncthreads();
  narrow_product(tile, actions, multiple_of_32(layer.outputs), nullptr);
}

// The same for critic k of an agent, whose first layer is `layer`; writes the gradients.
template <int kSize, typename T>
__device__ void write_action_gradient(T& tile, const Agent& agent, int k, const LayerShape& layer,
                                      int first_sample) {
  const int actions = agent.action_size;
  to_actions(tile, agent.critic_net[k].parameters, layer, agent.observation_size, actions);
  float* gradient = agent.action_gradient[k];
  for_each_row<kSize>([&](int r, int i) {
    if (i < actions) gradient[(first_sample + r) * actions + i] = tile.result(r, i);
  });
}

// x = the gradient of the actor's outputs, gradient(r, j), which also goes to its trace.
template <bool kExact, int kSize, typename Gradient>
__device__ void fill_head_gradient(NetworkTile<kExact, kSize>& tile, const Agent& agent,
                                   int outputs, int first_sample, Gradient&& gradient) {
  const int stride = stride_of_deltas(outputs);
  auto* delta = numbers<kExact>(agent.actor_trace.delta[agent.actor_shape.layers - 1]);
  fill(tile, 32, [&](int r, int j) {
    const float value = gradient(r, j);
    if (j < stride) store(delta[(first_sample + r) * stride + j], value);
    return value;
  });
}

// ---- the actor's active units, for a backward pass in another kernel

// Calls visit(in_tile, in_memory) for each word.
template <typename T, typename Visit>
__device__ void for_each_active(T& tile, const Agent& agent, int first_sample, Visit&& visit) {
  std::uint32_t* words = agent.actor_active + first_sample / T::kRows * T::kActiveWords;
  const int hidden = agent.actor_shape.layers - 1;
  for (int l = 0; l < hidden; ++l) {
#pragma unroll
    for (int m = 0; m < T::kTiles; ++m)
      visit(tile.active[l][m][threadIdx.x], words[(l * T::kTiles + m) * T::kThreads + threadIdx.x]);
  }
}
template <typename T>
__device__ void save_active(T& tile, const Agent& agent, int first_sample) {
  for_each_active(tile, agent, first_sample, [](auto& mine, auto& kept) { kept = mine; });
}
template <typename T>
__device__ void load_active(T& tile, const Agent& agent, int first_sample) {
  for_each_active(tile, agent, first_sample, [](auto& mine, auto& kept) { mine = kept; });
}

// ---- networks whose output layer may be as wide as the hidden ones, without normalised layers

// After begin_forward() of all layers, from the input in x (zero up to a multiple of 32 columns) to
// the output of the shape's last layer in x, zero beyond it. kRelu: the last layer has a ReLU too.
// `kept` as in forward(), for every layer with a ReLU. Ends with a barrier.
template <bool kRelu, int kSize>
__device__ void forward_wide(NetworkTile<true, kSize>& tile, const float* parameters,
                             const NetworkShape& shape, int first_sample, float* const* kept) {
  float out[Tile<kSize>::kTiles][8][4];
  for (int l = 0; l < shape.layers; ++l) {
    const bool is_last = l == shape.layers - 1, is_relu = kRelu || !is_last;
    product<Pass::forward>(tile, Weights(parameters, shape.layer[l]), out);
    if (!is_last) fetch_first<Pass::forward>(tile, Weights(parameters, shape.layer[l + 1]));
    add_bias<kSize>(tile.bias[l], out);
    store_layer<false, true>(tile, l, is_relu, kept != nullptr && is_relu ? kept[l] : nullptr,
                             nullptr, stride_of_deltas(shape.layer[l].outputs), first_sample, out);
  }
  __syncthreads();
}

}  // namespace ovde::cuda
