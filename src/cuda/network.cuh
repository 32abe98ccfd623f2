// A network forward and backward on a tile of samples (tile.cuh).
#pragma once

#include "cuda/norm.cuh"

namespace ovde::cuda {

__device__ inline int multiple_of_32(int n) { return (n + 31) & ~31; }

// A tile, and which units were above zero: a bit for each number of a lane.
template <int kSize>
struct NetworkTile : Tile<kSize> {
  float part[1][Tile<kSize>::kRows][4];  // of sum_rows
  std::uint32_t active[kMostHidden][Tile<kSize>::kTiles][Tile<kSize>::kThreads];

  // where these bits go in memory: word number tile * kActiveWords + this
  static constexpr int kActiveWords = kMostHidden * Tile<kSize>::kTiles * Tile<kSize>::kThreads;
};

// The block's shared memory.
template <typename T>
__device__ T& shared_as() {
  extern __shared__ __align__(128) unsigned char memory[];
  return *reinterpret_cast<T*>(memory);
}

// ---- filling and reading x: a warp takes whole rows, its lanes their columns

// x[r][i] = value(r, i) for i < width, all of a column's values asked for before the first is used.
template <bool kExact, int kSize, typename Value>
__device__ void fill(Tile<kSize>& tile, int width, Value&& value) {
  constexpr int kEach = Tile<kSize>::kEach, kWarps = Tile<kSize>::kWarps;
  const int warp = threadIdx.x / 32;
  for (int i = threadIdx.x % 32; i < width; i += 32) {
    float values[kEach];
#pragma unroll
    for (int j = 0; j < kEach; ++j) values[j] = value(warp + kWarps * j, i);
#pragma unroll
    for (int j = 0; j < kEach; ++j) tile.x[warp + kWarps * j][i] = operand<kExact>(values[j]);
  }
}

// visit(r, lane) for every row; lanes are columns.
template <int kSize, typename Visit>
__device__ void for_each_row(Visit&& visit) {
#pragma unroll
  for (int j = 0; j < Tile<kSize>::kEach; ++j)
    visit(threadIdx.x / 32 + Tile<kSize>::kWarps * j, threadIdx.x % 32);
}

__device__ inline float sum_of_warp(float x) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) x += __shfl_xor_sync(~0u, x, offset);
  return x;
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

// The output layer's weights, whole, into the weights' memory.
template <int kSize>
__device__ void fetch_narrow(Tile<kSize>& tile, const float* parameters, const LayerShape& layer) {
  const int column = threadIdx.x % 64 * 4;
  if (column < layer.stride) {
#pragma unroll
    for (int row = threadIdx.x / 64; row < kMostOutputs; row += Tile<kSize>::kThreads / 64) {
      if (row < layer.outputs)
        copy_async(tile.weights + row * kActivationStride + column,
                   parameters + layer.weights + row * layer.stride + column, true);
    }
  }
  commit_copies();
}

// ---- passes

// The first weights of forward() on their way; then the caller may fill x.
template <int kSize>
__device__ void begin_forward(Tile<kSize>& tile, const float* parameters,
                              const NetworkShape& shape) {
  const LayerShape layer = shape.layer[0];
  fetch_bias(tile, parameters, layer, 0);
  fetch_first<Pass::forward>(tile, Weights(parameters, layer));
}

// From the input in x (zero up to a multiple of 32 columns) to the output in x, columns 0 ..
// outputs -
// 1. With `kept`, row r of what the hidden layers put out goes to kept[layer] + (first_sample + r)
// * stride; with `norm`, what backward() will ask of normalised layers goes there.
template <bool kExact, int kSize>
__device__ void forward(NetworkTile<kSize>& tile, const float* parameters,
                        const NetworkShape& shape, int first_sample, float* const* kept,
                        const NormTrace* norm = nullptr) {
  constexpr int kTiles = Tile<kSize>::kTiles;
  float out[kTiles][8][4];
  const int last = shape.layers - 1;
  for (int l = 0; l < last; ++l) {
    const LayerShape layer = shape.layer[l], next = shape.layer[l + 1];
    float* keep =
        kept != nullptr ? kept[l] + static_cast<std::size_t>(first_sample) * next.stride : nullptr;
    product<Pass::forward, kExact>(tile, Weights(parameters, layer), out);
    fetch_bias(tile, parameters, next, (l + 1) % 2);
    if (l + 1 < last) {
      fetch_first<Pass::forward>(tile, Weights(parameters, next));
    } else {
      fetch_narrow(tile, parameters, next);
    }

    const float* bias = tile.bias[l % 2];
    if (shape.norm) {
      normalise<kSize>(tile, bias, layer.outputs, Tile<kSize>::kRows, out,
                       [&](int row, float scale) {
                         if (norm != nullptr) norm->scale[l][first_sample + row] = scale;
                       });
    }
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
      std::uint32_t below = 0;  // the signs, shifted in one after the other
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        const Octet<kSize> at(m, part % 2, part / 2);
        float value[8], b[8] = {};
        if (!shape.norm) load8(b, bias + at.column);
        if (shape.norm && norm != nullptr && at.column < next.stride) {
#pragma unroll
          for (int i = 0; i < 8; ++i) value[i] = at(out[m], i);
          store8(norm->normal[l] + (first_sample + at.row) * next.stride + at.column, value);
        }
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const float sum = at(out[m], i) + b[i];  // beyond the layer: zero
          value[i] = operand<kExact>(relu(sum));
          below = __funnelshift_l(__float_as_uint(sum), below, 1);
        }
        store8(&tile.x[at.row][at.column], value);
        if (keep != nullptr && at.column < next.stride)
          store8(keep + at.row * next.stride + at.column, value);
      }
      tile.active[l][m][threadIdx.x] = ~below;
    }
  }

  const LayerShape layer = shape.layer[last];
  wait_for_copies<0>();
  __syncthreads();
  narrow_product<kExact>(tile, layer.outputs, layer.stride, tile.bias[last % 2]);
}

// The first weights of backward() on their way; nobody may be reading the weights' memory.
template <int kSize>
__device__ void begin_backward(Tile<kSize>& tile, const float* parameters,
                               const NetworkShape& shape) {
  const LayerShape layer = shape.layer[shape.layers - 1];
  fetch_first<Pass::backward>(tile, Weights(parameters, layer));
}

// Whether number i of a lane's octet `part` is noted as above zero.
__device__ inline bool is_active(std::uint32_t active, int part, int i) {
  return active >> (31 - 8 * part - i) & 1;
}

// From the gradient of hidden layer l's ReLU to that of its sums, through the units that are noted
// as active and the normalisation.
template <int kSize>
__device__ void back_through_norm(NetworkTile<kSize>& tile, const NormTrace& trace, int l,
                                  int units, int stride, int first_sample,
                                  float (&out)[Tile<kSize>::kTiles][8][4]) {
  // visit(octet, m, half, n): n are its normalised sums
  const auto for_each_octet = [&](auto&& visit) {
    for_each_group<kSize>([&](const auto& group) {
      group.each([&](const auto& at, int m, int half) {
        float n[8] = {};
        if (at.column < stride)
          load8(n, trace.normal[l] + (first_sample + at.row) * stride + at.column);
        visit(at, m, half, n);
      });
    });
  };
  NormGradient<kSize> norm;
  for_each_octet([&](const auto& at, int m, int half, const auto& n) {
    const std::uint32_t active = tile.active[l][m][threadIdx.x];
    const int part = half + 2 * (at.column / 32 % 2);
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float& d = at(out[m], i);
      d = is_active(active, part, i) ? d : 0.0f;
      norm.add(m, half, d, n[i]);
    }
  });
  norm.finish(tile, units, trace.scale[l] + first_sample, true);
  for_each_octet([&](const auto& at, int m, int half, const auto& n) {
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float& d = at(out[m], i);
      d = at.column + i < units ? norm.dx(m, half, d, n[i]) : 0.0f;
    }
  });
}

// From the gradient of the output in x (zero up to a multiple of 32 columns) to that of the first
// layer's in x, through the units that are noted as active. With `kept` and `norm`, as in
// forward().
template <bool kExact, int kSize>
__device__ void backward(NetworkTile<kSize>& tile, const float* parameters,
                         const NetworkShape& shape, int first_sample, float* const* kept,
                         const NormTrace* norm = nullptr) {
  constexpr int kTiles = Tile<kSize>::kTiles;
  float out[kTiles][8][4];
  for (int l = shape.layers - 1; l > 0; --l) {
    const LayerShape layer = shape.layer[l], next = shape.layer[l - 1];
    float* keep = kept != nullptr
                      ? kept[l - 1] + static_cast<std::size_t>(first_sample) * layer.stride
                      : nullptr;
    product<Pass::backward, kExact>(tile, Weights(parameters, layer), out);
    if (l > 1) fetch_first<Pass::backward>(tile, Weights(parameters, next));
    if (shape.norm && norm != nullptr)
      back_through_norm(tile, *norm, l - 1, next.outputs, layer.stride, first_sample, out);

#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
      const std::uint32_t active = tile.active[l - 1][m][threadIdx.x];
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        const Octet<kSize> at(m, part % 2, part / 2);
        float value[8];
#pragma unroll
        for (int i = 0; i < 8; ++i)
          value[i] =
              shape.norm || is_active(active, part, i) ? operand<kExact>(at(out[m], i)) : 0.0f;
        store8(&tile.x[at.row][at.column], value);
        if (keep != nullptr && at.column < layer.stride)
          store8(keep + at.row * layer.stride + at.column, value);
      }
    }
  }
}

// ---- which units were active, for a backward pass in another kernel

template <int kSize>
__device__ void save_active(const NetworkTile<kSize>& tile, int hidden, std::uint32_t* to) {
  using T = Tile<kSize>;
  for (int l = 0; l < hidden; ++l) {
#pragma unroll
    for (int m = 0; m < T::kTiles; ++m)
      to[(l * T::kTiles + m) * T::kThreads + threadIdx.x] = tile.active[l][m][threadIdx.x];
  }
}
template <int kSize>
__device__ void load_active(NetworkTile<kSize>& tile, int hidden, const std::uint32_t* from) {
  using T = Tile<kSize>;
  for (int l = 0; l < hidden; ++l) {
#pragma unroll
    for (int m = 0; m < T::kTiles; ++m)
      tile.active[l][m][threadIdx.x] = from[(l * T::kTiles + m) * T::kThreads + threadIdx.x];
  }
}

}  // namespace ovde::cuda
