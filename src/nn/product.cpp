#include "nn/product.h"

#include <algorithm>
#include <cstring>

#if defined(__ARM_NEON)
#include <arm_neon.h>
#endif

namespace ovde {

namespace {

// A tile of the result: kRows rows of V vectors, kept in registers.
template <int V>
struct Tile {
  Vector value[kRows][V];
};

// tile += panel(kRows x depth) * x(depth x V vectors), the rows of x `stride` floats apart.
template <int V>
inline void multiply(int depth, const float* __restrict panel, const float* __restrict x,
                     int stride, Tile<V>& tile) {
  for (int k = 0; k < depth; ++k) {
    Vector column[V];
    for (int v = 0; v < V; ++v) column[v] = load(x + k * stride + v * kVector);
#if defined(__ARM_NEON)
    // multiply-add by element: one load serves four rows (GCC would load every weight separately)
    static_assert(kRows == 4);
    const float32x4_t w = vld1q_f32(panel + k * kRows);
    for (int v = 0; v < V; ++v) {
      tile.value[0][v] = vfmaq_laneq_f32(tile.value[0][v], column[v], w, 0);
      tile.value[1][v] = vfmaq_laneq_f32(tile.value[1][v], column[v], w, 1);
      tile.value[2][v] = vfmaq_laneq_f32(tile.value[2][v], column[v], w, 2);
      tile.value[3][v] = vfmaq_laneq_f32(tile.value[3][v], column[v], w, 3);
    }
#else
    for (int r = 0; r < kRows; ++r) {
      for (int v = 0; v < V; ++v) tile.value[r][v] += column[v] * panel[k * kRows + r];
    }
#endif
  }
}

// A tile of `weights`, as the product over all samples; with kAdd, added to it.
template <int V, bool kAdd>
inline void gradient_tile(int samples, const float* panel, const float* inputs, int rows,
                          float* weights, int stride) {
  // unrolled loops of constant length, so that the tile stays in registers
  Tile<V> tile{};
  if (kAdd) {
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      if (r < rows) {
        for (int v = 0; v < V; ++v) tile.value[r][v] = load(weights + r * stride + v * kVector);
      }
    }
  }
  multiply<V>(samples, panel, inputs, V * kVector, tile);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    if (r < rows) {
      for (int v = 0; v < V; ++v) store(weights + r * stride + v * kVector, tile.value[r][v]);
    }
  }
}

template <int V, bool kAdd>
void gradient_chunk(int samples, const GradientScratch& scratch, const float* inputs, int outputs,
                    float* weights, int stride) {
  for (int o = 0; o < outputs; o += kRows) {
    const float* panel = scratch.outputs.data() + static_cast<std::size_t>(o) * samples;
    gradient_tile<V, kAdd>(samples, panel, inputs, std::min(kRows, outputs - o),
                           weights + o * stride, stride);
  }
}

}  // namespace

Panels::Panels(int rows, int depth)
    : rows_(rows),
      depth_(depth),
      padded_depth_(round_up(depth, 4)),
      data_(static_cast<std::size_t>(round_up(rows, kRows)) * padded_depth_) {}

void Panels::pack(const float* matrix, int stride) {
  float* out = data_.data();
  for (int r = 0; r < rows_; r += kRows, out += padded_depth_ * kRows) {
    for (int q = 0; q < kRows; q += 4) {
      if (r + q + 4 <= rows_) {
        for (int k = 0; k < depth_; k += 4) {
          transpose_quad(matrix + (r + q) * stride + k, stride, out + k * kRows + q, kRows);
        }
      } else {
        for (int i = r + q; i < std::min(r + q + 4, rows_); ++i) {
          for (int k = 0; k < depth_; ++k) out[k * kRows + i - r] = matrix[i * stride + k];
        }
      }
    }
  }
}

void Panels::pack_transposed(const float* matrix, int stride, int first) {
  // a few rows of the matrix at a time, so that they stay in the cache
  constexpr int kRowsAtATime = 16;
  for (int begin = 0; begin < depth_; begin += kRowsAtATime) {
    const int end = std::min(begin + kRowsAtATime, depth_);
    float* out = data_.data();
    for (int r = 0; r < rows_; r += kRows, out += padded_depth_ * kRows) {
      const int rows = std::min(kRows, rows_ - r);
      for (int k = begin; k < end; ++k) {
        const float* from = matrix + static_cast<std::size_t>(k) * stride + first + r;
        if (rows == kRows) {
          std::memcpy(out + k * kRows, from, kRows * sizeof(float));
        } else {
          for (int i = 0; i < rows; ++i) out[k * kRows + i] = from[i];
        }
      }
    }
  }
}

void product_forward(const Panels& w, const float* bias, Activation activation, const Batch& x,
                     Batch& y, Blocks blocks) {
  const Vector floor = splat(activation == Activation::relu ? 0 : -__builtin_inff());
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int p = 0; p < w.panels(); ++p) {
      Tile<kVectorsPerBlock> tile;
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectorsPerBlock; ++v) tile.value[r][v] = splat(bias[p * kRows + r]);
      }
      multiply<kVectorsPerBlock>(w.depth(), w.panel(p), x.block(b), kLanes, tile);
      float* out = y.row(b, p * kRows);
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectorsPerBlock; ++v) {
          // propagates NaN, for the check for non-finite losses
          const Vector value = tile.value[r][v];
          store(out + r * kLanes + v * kVector, value < floor ? floor : value);
        }
      }
    }
  }
}

void product_backward(const Panels& w, const Batch& dy, const Batch* mask, Batch& dx,
                      Blocks blocks) {
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int p = 0; p < w.panels(); ++p) {
      Tile<kVectorsPerBlock> tile{};
      multiply<kVectorsPerBlock>(w.depth(), w.panel(p), dy.block(b), kLanes, tile);
      float* out = dx.row(b, p * kRows);
      const float* active = mask ? mask->row(b, p * kRows) : nullptr;
      for (int r = 0; r < kRows; ++r) {
        for (int v = 0; v < kVectorsPerBlock; ++v) {
          Vector value = tile.value[r][v];
          if (active) value = load(active + r * kLanes + v * kVector) > 0 ? value : Vector{};
          store(out + r * kLanes + v * kVector, value);
        }
      }
    }
  }
}

GradientScratch::GradientScratch(int widest, int samples)
    : inputs(static_cast<std::size_t>(round_up(widest, kLanes)) * round_up(samples, kLanes)),
      outputs(static_cast<std::size_t>(round_up(widest, kRows)) * round_up(samples, kLanes)) {}

template <bool kAdd>
void weight_gradient(const Batch& dy, const Batch& x, Blocks blocks, float* weights, int stride,
                     float* bias, GradientScratch& scratch) {
  const int samples = (blocks.last - blocks.first) * kLanes;

  // dy -> panels of outputs, and its row sums
  for (int o = 0; o < dy.features(); o += 4) {
    float* panel =
        scratch.outputs.data() + static_cast<std::size_t>(o / kRows * kRows) * samples + o % kRows;
    for (int b = blocks.first; b < blocks.last; ++b) {
      for (int s = 0; s < kLanes; s += 4) {
        transpose_quad(dy.row(b, o) + s, kLanes, panel + ((b - blocks.first) * kLanes + s) * kRows,
                       kRows);
      }
    }
  }
  for (int o = 0; o < dy.features(); ++o) {
    Vector sum{};
    over_samples(blocks, [&](int b, int v) { sum += load(dy.row(b, o) + v); });
    bias[o] = kAdd ? bias[o] + sum_lanes(sum) : sum_lanes(sum);
  }

  // x -> chunks of inputs; the last one may be narrower
  for (int i = 0; i < x.features(); i += kLanes) {
    const int vectors = std::min(kVectorsPerBlock, (x.features() - i + kVector - 1) / kVector);
    const int width = vectors * kVector;
    float* chunk = scratch.inputs.data() + static_cast<std::size_t>(i) * samples;
    const int rows = round_up(x.features(), kRows);  // rows that exist
    for (int q = 0; q < width; q += 4) {
      for (int b = blocks.first; b < blocks.last; ++b) {
        for (int s = 0; s < kLanes; s += 4) {
          float* out =
              chunk + static_cast<std::size_t>((b - blocks.first) * kLanes + s) * width + q;
          if (i + q < rows) {
            transpose_quad(x.row(b, i + q) + s, kLanes, out, width);
          } else {
            for (int j = 0; j < 4; ++j) std::memset(out + j * width, 0, 4 * sizeof(float));
          }
        }
      }
    }
    switch (vectors) {
      case 1:
        gradient_chunk<1, kAdd>(samples, scratch, chunk, dy.features(), weights + i, stride);
        break;
      case 2:
        gradient_chunk<2, kAdd>(samples, scratch, chunk, dy.features(), weights + i, stride);
        break;
#if !defined(__AVX__)
      case 3:
        gradient_chunk<3, kAdd>(samples, scratch, chunk, dy.features(), weights + i, stride);
        break;
      case 4:
        gradient_chunk<4, kAdd>(samples, scratch, chunk, dy.features(), weights + i, stride);
        break;
#endif
    }
  }
}

template void weight_gradient<false>(const Batch&, const Batch&, Blocks, float*, int, float*,
                                     GradientScratch&);
template void weight_gradient<true>(const Batch&, const Batch&, Blocks, float*, int, float*,
                                    GradientScratch&);

}  // namespace ovde
