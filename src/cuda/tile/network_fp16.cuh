// Forward and backward passes of a network on a tile of samples, in fp16 (product_fp16.cuh).
#pragma once

#include "cuda/tile/network.cuh"

namespace ovde::cuda {

template <int kSize>
struct HalfNetworkTile : HalfTile<kSize> {
  using T = HalfTile<kSize>;
  float part[2][T::kRows][4];  // for sum_rows()
  // the hidden layers' vectors, zero beyond their units
  float bias[kMostHidden][kMostWidth], gain[kMostHidden][kMostWidth],
      shift[kMostHidden][kMostWidth];
  float scale[kMostHidden][T::kRows];  // 1 / sqrt(variance + epsilon) of each normalisation
  std::uint32_t active[kMostHidden][T::kTiles][T::kThreads];  // as in NetworkTile
  static constexpr int kActiveWords = kMostHidden * T::kTiles * T::kThreads;
};

inline constexpr int kLeastShared = 99 * 1024;  // a block's shared memory on every GPU
static_assert(sizeof(HalfNetworkTile<2>) <= kLeastShared && sizeof(NetworkTile<0>) <= kLeastShared);

// The tile of a precision, the blocks that fit on a multiprocessor, and the numbers in traces.
template <bool kExact, int kSize>
using TileFor = std::conditional_t<kExact, NetworkTile<kSize>, HalfNetworkTile<kSize>>;
template <bool kExact>
constexpr int kBlocks = kExact ? 1 : 2;
template <bool kExact>
__device__ auto* numbers(float* memory) {
  return reinterpret_cast<std::conditional_t<kExact, float, __half>*>(memory);
}
__device__ inline void store(float& to, float x) { to = x; }
__device__ inline void store(__half& to, float x) { to = to_half(x); }

__device__ inline HalfWeights half_weights(const PassParameters& net, const NetworkShape& shape,
                                           int l) {
  return {net.forward[l], net.backward[l], shape.layer[l].outputs, shape.layer[l].stride};
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

template <int kSize>
__device__ void begin_forward(HalfNetworkTile<kSize>& tile, const PassParameters& net,
                              const NetworkShape& shape) {
  fetch_vectors(tile, net.values, shape.layer, 0, shape.layers - 1, shape.norm ? 3 : 1);
  fetch_first<Pass::forward>(tile, half_weights(net, shape, 0));
}

template <bool kNorm, bool kBack = true, int kSize>
__device__ void forward(HalfNetworkTile<kSize>& tile, const PassParameters& net,
                        const NetworkShape& shape, int first_sample, float* const* kept,
                        const NormTrace* norm) {
  using T = HalfTile<kSize>;
  float out[T::kTiles][8][4];
  const int last = shape.layers - 1;
  wait_for_copies<T::kStages - 2>();  // the vectors have arrived
  __syncthreads();
  for (int l = 0; l < last; ++l) {
    const int stride = shape.layer[l + 1].stride;
    product<Pass::forward>(tile, half_weights(net, shape, l), out);
    if (l + 1 < last) {
      fetch_first<Pass::forward>(tile, half_weights(net, shape, l + 1));
    } else {
      const LayerShape& output = shape.layer[last];
      fetch_narrow(tile, net.forward[last], kMostWidth, output.outputs,
                   multiple_of_32(output.stride));
    }
    add_bias<kSize>(tile.bias[l], out);
    if constexpr (kNorm) {
      normalise_by_moments<kSize>(tile, shape.layer[l].outputs, out,
                                  [&](int row, float scale) { tile.scale[l][row] = scale; });
    }

    __half* keep = kept != nullptr ? numbers<false>(kept[l]) : nullptr;
    __half* normal = kNorm && norm != nullptr ? numbers<false>(norm->normal[l]) : nullptr;
    std::uint32_t below[T::kTiles] = {};  // the signs, shifted in one after the other
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
          value[i] = relu(sum);
          if constexpr (kBack) below[m] = __funnelshift_l(__float_as_uint(sum), below[m], 1);
        }
        store8(&tile.x[at.row][at.column], value);
        if (at.column >= stride) return;
        const int to = (first_sample + at.row) * stride + at.column;
        if (keep != nullptr) store8(keep + to, value);
        if (normal != nullptr) store8(normal + to, n);
      });
    });
    if constexpr (kBack) {
#pragma unroll
      for (int m = 0; m < T::kTiles; ++m) tile.active[l][m][threadIdx.x] = ~below[m];
    }
  }

  const LayerShape& layer = shape.layer[last];
  wait_for_copies<0>();
  __syncthreads();
  narrow_product(tile, layer.outputs, layer.stride, net.values + layer.bias);
}

template <int kSize>
__device__ void begin_backward(HalfNetworkTile<kSize>& tile, const PassParameters& net,
                               const NetworkShape& shape) {
  fetch_first<Pass::backward>(tile, half_weights(net, shape, shape.layers - 1));
}

// Starts to copy hidden layer l's normalised sums, which forward() has kept, to x.
template <int kSize>
__device__ void fetch_normal(HalfTile<kSize>& tile, const NormTrace& trace, int l, int stride,
                             int first_sample) {
  using T = HalfTile<kSize>;
  constexpr int kParts = kMostWidth / 8;
  const int column = threadIdx.x % kParts * 8;
  const bool valid = column < stride;  // zero beyond
  const __half* from =
      numbers<false>(trace.normal[l]) + first_sample * stride + (valid ? column : 0);
#pragma unroll
  for (int row = threadIdx.x / kParts; row < T::kRows; row += T::kThreads / kParts)
    copy_async(&tile.x[row][column], from + row * stride, valid);
  commit_copies();
}

// As in fp32, with the normalised sums in x.
template <bool kParameters, int kSize>
__device__ void back_through_norm(HalfNetworkTile<kSize>& tile, const NormTrace& trace, int l,
                                  const LayerShape& layer, int stride, int first_sample,
                                  float (&out)[HalfTile<kSize>::kTiles][8][4]) {
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
        d *= gain[i];
        norm.add(m, half, d, n[i]);
      }
      if (!kParameters || half == 0) return;
      const int to = (first_sample + at.row) / kSummedRows * stride;
      sums.write(trace.by_gain[l] + to, trace.by_shift[l] + to, at.column, stride);
      sums = UnitSums();
    });
  });
  norm.finish(tile, layer.outputs, tile.scale[l], true);
  norm.apply(load_normal, out);
}

template <bool kNorm, int kSize>
__device__ void backward(HalfNetworkTile<kSize>& tile, const PassParameters& net,
                         const NetworkShape& shape, int first_sample, float* const* kept,
                         const NormTrace* norm) {
  using T = HalfTile<kSize>;
  float out[T::kTiles][8][4];
  for (int l = shape.layers - 1; l > 0; --l) {
    const int stride = shape.layer[l].stride;
    product<Pass::backward>(tile, half_weights(net, shape, l), out);
    if constexpr (kNorm) fetch_normal(tile, *norm, l - 1, stride, first_sample);
    if (l > 1) fetch_first<Pass::backward>(tile, half_weights(net, shape, l - 1));
    if constexpr (kNorm) {
      if (l > 1) {
        wait_for_copies<T::kStages - 1>();
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
    __half* keep = kept != nullptr ? numbers<false>(kept[l - 1]) + first_sample * stride : nullptr;
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

}  // namespace ovde::cuda
