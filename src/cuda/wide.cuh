// A network without normalised layers forward on a tile, whose last layer may be as wide as the
// hidden ones (forward() of network.cuh has one of at most kMostOutputs).
#pragma once

#include "cuda/network.cuh"

namespace ovde::cuda {

// After begin_forward(), from the input in x (zero up to a multiple of 32 columns) to what the last
// of the shape's layers puts out in x, zero beyond it; with kRelu, after its ReLU, which is noted
// as those of the hidden layers are. `kept` as in forward(), of every layer with a ReLU. Ends with
// every thread done.
template <bool kRelu, int kSize>
__device__ void forward_wide(NetworkTile<kSize>& tile, const float* parameters,
                             const NetworkShape& shape, int first_sample, float* const* kept) {
  constexpr int kTiles = Tile<kSize>::kTiles;
  float out[kTiles][8][4];
  for (int l = 0; l < shape.layers; ++l) {
    const LayerShape layer = shape.layer[l];
    const bool last = l == shape.layers - 1, relu_here = kRelu || !last;
    const int stride = stride_of_deltas(layer.outputs);
    float* keep = kept != nullptr && relu_here
                      ? kept[l] + static_cast<std::size_t>(first_sample) * stride
                      : nullptr;
    product<Pass::forward>(tile, Weights(parameters, layer), out);
    if (!last) {
      fetch_bias(tile, parameters, shape.layer[l + 1], (l + 1) % 2);
      fetch_first<Pass::forward>(tile, Weights(parameters, shape.layer[l + 1]));
    }
#pragma unroll
    for (int m = 0; m < kTiles; ++m) {
      std::uint32_t below = 0;  // the signs, as forward() notes them
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        const Octet<kSize> at(m, part % 2, part / 2);
        float value[8], b[8];
        load8(b, tile.bias[l % 2] + at.column);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const float sum = at(out[m], i) + b[i];  // beyond the layer: zero
          value[i] = relu_here ? relu(sum) : sum;
          below = __funnelshift_l(__float_as_uint(sum), below, 1);
        }
        store8(&tile.x[at.row][at.column], value);
        if (keep != nullptr && at.column < stride)
          store8(keep + at.row * stride + at.column, value);
      }
      if (relu_here) tile.active[l][m][threadIdx.x] = ~below;
    }
  }
  __syncthreads();
}

}  // namespace ovde::cuda
