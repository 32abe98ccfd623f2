// An implicit quantile network (nn/iqn.h) forward and backward on a tile: its rows are all
// fractions of a few samples, one sample after another; while the features are computed, the first
// rows are the samples themselves. What a row or a sample gets does not depend on the others of its
// tile.
#pragma once

#include "cuda/network.cuh"

namespace ovde::cuda {

// As nn/iqn_shape.h and nn/layer_norm.h have them.
inline constexpr int kCosines = 64;
inline constexpr float kNormEpsilon = 1e-5f;

template <int kSize>
struct IqnTile : Tile<kSize> {
  using Tile<kSize>::kRows;
  float part[2][kRows][4];              // sums over the columns of each of four warps
  float scale[kMostNormalised][kRows];  // 1 / sqrt(variance + epsilon) of each normalisation
  float tau[kRows], weight[kRows];      // the fractions
  float value[kRows], slope[kRows];     // z, and the gradient by it
};

// Which samples and fractions the rows of a tile are: `count` samples from `first` on.
struct IqnRows {
  __device__ bool has(int r) const { return r < count * fractions; }
  __device__ int sample(int r) const { return first + (has(r) ? r / fractions : 0); }
  __device__ int row(int r) const { return first * fractions + r; }  // of the whole batch

  int fractions, first, count;
};

// ---- pieces

__device__ inline float sigmoid(float x) { return __fdividef(1.0f, 1.0f + __expf(-x)); }

// Eight numbers of a row that is read or written once: past the first-level cache, which is small
// beside a tile and holds the vectors of the layers.
__device__ inline void stream8(float* to, const float (&v)[8]) {
  __stcg(reinterpret_cast<float4*>(to), make_float4(v[0], v[1], v[2], v[3]));
  __stcg(reinterpret_cast<float4*>(to) + 1, make_float4(v[4], v[5], v[6], v[7]));
}
__device__ inline void stream8(float (&v)[8], const float* from) {
  const float4 a = __ldcg(reinterpret_cast<const float4*>(from)),
               b = __ldcg(reinterpret_cast<const float4*>(from) + 1);
  v[0] = a.x, v[1] = a.y, v[2] = a.z, v[3] = a.w, v[4] = b.x, v[5] = b.y, v[6] = b.z, v[7] = b.w;
}

// Eight neighbours of a vector that has a number for each unit of a layer; zero beyond it.
__device__ inline void load_units(float (&v)[8], const float* vector, int column, int units) {
  if (column < stride_of_deltas(units)) {
    load8(v, vector + column);
  } else {
#pragma unroll
    for (float& x : v) x = 0;
  }
}

// The octets of a product that this lane has in 32 neighbouring columns: all in the same eight.
template <int kSize>
class OctetGroup {
 public:
  __device__ explicit OctetGroup(int group)
      : column(Octet<kSize>(0, 0, group).column), group_(group) {}

  // visit(octet, m, half)
  template <typename Visit>
  __device__ void each(Visit&& visit) const {
#pragma unroll
    for (int m = 0; m < Tile<kSize>::kTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) visit(Octet<kSize>(m, half, group_), m, half);
  }
  // The same, leaving out what lies beyond the first `rows` rows.
  template <typename Visit>
  __device__ void each_below(int rows, Visit&& visit) const {
#pragma unroll
    for (int m = 0; m < Tile<kSize>::kTiles; ++m) {
      if (Octet<kSize>(m, 0, group_).row - threadIdx.x % 32 / 4 >= rows) continue;
#pragma unroll
      for (int half = 0; half < 2; ++half) visit(Octet<kSize>(m, half, group_), m, half);
    }
  }
  // load(octet, half) for both halves, then visit(octet, m, half): one waits for memory once.
  template <typename Load, typename Visit>
  __device__ void each(Load&& load, Visit&& visit) const {
#pragma unroll
    for (int m = 0; m < Tile<kSize>::kTiles; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) load(Octet<kSize>(m, half, group_), half);
#pragma unroll
      for (int half = 0; half < 2; ++half) visit(Octet<kSize>(m, half, group_), m, half);
    }
  }
  int column;

 private:
  int group_;
};

template <int kSize, typename Visit>
__device__ void for_each_group(Visit&& visit) {
#pragma unroll
  for (int group = 0; group < 2; ++group) visit(OctetGroup<kSize>(group));
}

// visit(row, m, half) for each row of a product of which this lane has a part; `first` is true of
// one lane of those that share the row.
template <int kSize, typename Visit>
__device__ void for_each_product_row(Visit&& visit) {
  const bool first = threadIdx.x % 4 == 0 && threadIdx.x / 32 % 4 == 0;
#pragma unroll
  for (int m = 0; m < Tile<kSize>::kTiles; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) visit(Octet<kSize>(m, half, 0).row, m, half, first);
}

// From what each lane has of its rows to the sums over the whole rows, in a fixed order.
template <int kCount, int kSize>
__device__ void sum_rows(IqnTile<kSize>& tile, float (&sums)[kCount][Tile<kSize>::kTiles][2]) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  __syncthreads();  // the last sums have been read
  for_each_product_row<kSize>([&](int row, int m, int half, bool) {
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      float sum = sums[c][m][half];
      sum += __shfl_xor_sync(~0u, sum, 1);
      sum += __shfl_xor_sync(~0u, sum, 2);
      if (lane % 4 == 0) tile.part[c][row][warp % 4] = sum;
    }
  });
  __syncthreads();
  for_each_product_row<kSize>([&](int row, int m, int half, bool) {
#pragma unroll
    for (int c = 0; c < kCount; ++c) {
      const float4 p = *reinterpret_cast<const float4*>(tile.part[c][row]);
      sums[c][m][half] = p.x + p.y + p.z + p.w;
    }
  });
}

// The way back through a normalisation n = (x - mean) * scale: dx = scale * (dn - mean(dn) - n *
// mean(dn * n)). First add() of every dn, then finish(), then dx() of each.
template <int kSize>
class NormGradient {
 public:
  __device__ void add(int m, int half, float dn, float n) {
    sums_[0][m][half] += dn;
    sums_[1][m][half] += dn * n;
  }
  __device__ void finish(IqnTile<kSize>& tile, int units, const float* scale) {
    sum_rows(tile, sums_);
    const float share = 1.0f / units;
    for_each_product_row<kSize>([&](int row, int m, int half, bool) {
      sums_[0][m][half] *= share;
      sums_[1][m][half] *= share;
      scale_[m][half] = scale[row];
    });
  }
  __device__ float dx(int m, int half, float dn, float n) const {
    return scale_[m][half] * (dn - sums_[0][m][half] - n * sums_[1][m][half]);
  }

 private:
  float sums_[2][Tile<kSize>::kTiles][2] = {};
  float scale_[Tile<kSize>::kTiles][2];
};

// From x to a row of `to` for each sample: the sums over its fractions. Every thread is done with x
// at the end.
template <int kSize>
__device__ void sum_fractions(const IqnTile<kSize>& tile, const IqnRows& rows, int units,
                              float* to) {
  __syncthreads();
  const int stride = stride_of_deltas(units);
  for (int e = threadIdx.x; e < rows.count * stride; e += Tile<kSize>::kThreads) {
    const int s = e / stride, column = e % stride;
    const float* from = &tile.x[s * rows.fractions][column];
    float sum = 0;
#pragma unroll 4
    for (int i = 0; i < rows.fractions; ++i) sum += from[i * kActivationStride];
    to[(rows.first + s) * stride + column] = sum;
  }
  __syncthreads();
}

// The fractions of agent/fractions.h, to the bit, from number(r), the U(0, 1) of row r. Ends with
// every thread done.
template <int kSize, typename Number>
__device__ void cut_interval(IqnTile<kSize>& tile, const IqnRows& rows, Number&& number) {
  const int r = threadIdx.x, n = rows.fractions;
  if (rows.has(r)) tile.value[r] = number(r) + 0.1f;
  __syncthreads();
  if (rows.has(r)) {
    const float* wide = tile.value + r / n * n;
    float total = 0, before = 0;
    for (int i = 0; i < n; ++i) total += wide[i];
    const float scale = n / total;
    for (int i = 0; i < r % n; ++i) before += __fmul_rn(wide[i], scale);
    const float weight = __fmul_rn(wide[r % n], scale);
    tile.weight[r] = weight;
    tile.tau[r] = (before + 0.5f * weight) * (1.0f / n);
  } else if (r < Tile<kSize>::kRows) {
    tile.tau[r] = 0;
  }
  __syncthreads();
}

// x: the input of each sample, value(s, i), and zeros.
template <bool kExact, int kSize, typename Value>
__device__ void fill_samples(IqnTile<kSize>& tile, const IqnRows& rows, int stride, Value&& value) {
  fill<kExact>(tile, multiple_of_32(stride), [&](int r, int i) {
    return r < rows.count && i < stride ? value(rows.first + r, i) : 0.0f;
  });
}

// ---- the network

// How far a pass goes back from the values.
enum class Way { none, to_inputs, to_parameters };

template <bool kExact, int kSize>
class IqnPass {
 public:
  using T = Tile<kSize>;
  using Product = float[T::kTiles][8][4];

  __device__ IqnPass(IqnTile<kSize>& tile, const float* parameters, const IqnShape& shape,
                     const IqnTrace& trace, const IqnRows& rows)
      : tile_(tile), parameters_(parameters), shape_(shape), trace_(trace), rows_(rows) {}

  // The first weights on their way; then the caller may fill x.
  __device__ void begin() { fetch_first<Pass::forward>(tile_, weights(0)); }

  // From the input of each sample in x (zero up to a multiple of 32 columns) and the fractions to
  // the values in tile.value. With a way back, `merged` has what it begins with; all the way to the
  // parameters, the cosines are kept where there is room for them. Ends with every thread done.
  template <Way kWay>
  __device__ void forward(Product& merged, float* cosines) {
    features<kWay>(merged);
    embed(cosines);
    gate<kWay>(merged);
    merge<kWay>(merged);
  }

  // From the gradient by the values in tile.slope to that of the first layer's sums in x, rows
  // being samples; what the gradients of the parameters need is kept.
  template <Way kWay>
  __device__ void backward(Product& merged) {
    back_through_merge<kWay>(merged);
    product<Pass::backward, kExact>(tile_, weights(merge_index()), merged);
    back_through_gate<kWay>(merged);
    back_through_features<kWay>(merged);
  }

 private:
  __device__ int gate_index() const { return shape_.feature_layers; }
  __device__ int merge_index() const { return shape_.feature_layers + 1; }
  __device__ Weights weights(int l) const { return Weights(parameters_, shape_.layer[l]); }

  // Gain and shift of eight units.
  struct Affine {
    __device__ Affine(const float* parameters, const NormalisedLayer& layer, int column) {
      load_units(gain, parameters + layer.gain, column, layer.outputs);
      load_units(shift, parameters + layer.shift, column, layer.outputs);
    }
    __device__ float operator()(int i, float n) const { return n * gain[i] + shift[i]; }
    float gain[8], shift[8];
  };

  // Adds the bias to a product of layer l and normalises its first `rows` rows.
  __device__ void normalise(int l, int rows, Product& out) {
    const NormalisedLayer layer = shape_.layer[l];
    const float share = 1.0f / layer.outputs;
    float mean[1][T::kTiles][2] = {}, squares[1][T::kTiles][2] = {};
    for_each_group<kSize>([&](const auto& group) {
      float bias[8];
      load_units(bias, parameters_ + layer.bias, group.column, layer.outputs);
      group.each_below(rows, [&](const auto& at, int m, int half) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          at(out[m], i) += bias[i];  // beyond the layer: zero
          mean[0][m][half] += at(out[m], i);
        }
      });
    });
    sum_rows(tile_, mean);
    for_each_group<kSize>([&](const auto& group) {
      group.each_below(rows, [&](const auto& at, int m, int half) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const float deviation =
              at.column + i < layer.outputs ? at(out[m], i) - mean[0][m][half] * share : 0.0f;
          at(out[m], i) = deviation;
          squares[0][m][half] += deviation * deviation;
        }
      });
    });
    sum_rows(tile_, squares);
    for_each_product_row<kSize>([&](int row, int m, int half, bool first) {
      float& scale = squares[0][m][half];
      scale = 1.0f / sqrtf(scale * share + kNormEpsilon);
      if (first) tile_.scale[l][row] = scale;
    });
    for_each_group<kSize>([&](const auto& group) {
      group.each_below(rows, [&](const auto& at, int m, int half) {
#pragma unroll
        for (int i = 0; i < 8; ++i) at(out[m], i) *= squares[0][m][half];
      });
    });
  }

  template <Way kWay>
  __device__ void features(Product& out) {
    for (int l = 0; l < shape_.feature_layers; ++l) {
      const NormalisedLayer layer = shape_.layer[l];
      const int stride = stride_of_deltas(layer.outputs);
      product<Pass::forward, kExact>(tile_, weights(l), out, rows_.count);
      fetch_first<Pass::forward>(tile_, weights(l + 1));
      normalise(l, rows_.count, out);
      for_each_group<kSize>([&](const auto& group) {
        const Affine affine(parameters_, layer, group.column);
        group.each_below(rows_.count, [&](const auto& at, int m, int) {
          float value[8], normal[8];
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            normal[i] = at(out[m], i);
            value[i] = operand<kExact>(relu(affine(i, normal[i])));
          }
          store8(&tile_.x[at.row][at.column], value);
          if (at.row >= rows_.count || at.column >= stride) return;
          const int to = (rows_.first + at.row) * stride + at.column;
          store8(trace_.features[l] + to, value);
          if (kWay != Way::none) store8(trace_.feature_normal[l] + to, normal);
        });
      });
    }
    __syncthreads();  // every row's features are in memory
  }

  // x = cos(pi j tau)
  __device__ void embed(float* cosines) {
    fill<kExact>(tile_, kCosines,
                 [&](int r, int j) { return cospif(__fmul_rn(j + 1.0f, tile_.tau[r])); });
    if (cosines == nullptr) return;
    for (int j = threadIdx.x % 32; j < kCosines; j += 32) {
      for_each_row<kSize>([&](int r, int) {
        if (rows_.has(r)) cosines[rows_.row(r) * kCosines + j] = tile_.x[r][j];
      });
    }
  }

  // The last features of the sample that row `row` belongs to.
  __device__ void load_features(float (&v)[8], int row, int column) const {
    const int units = shape_.layer[gate_index()].outputs;
    load_units(
        v, trace_.features[shape_.feature_layers - 1] + rows_.sample(row) * stride_of_deltas(units),
        column, units);
  }

  template <Way kWay>
  __device__ void gate(Product& out) {
    const NormalisedLayer layer = shape_.layer[gate_index()];
    const int stride = stride_of_deltas(layer.outputs);
    product<Pass::forward, kExact>(tile_, weights(gate_index()), out);
    fetch_first<Pass::forward>(tile_, weights(merge_index()));
    normalise(gate_index(), T::kRows, out);
    for_each_group<kSize>([&](const auto& group) {
      const Affine affine(parameters_, layer, group.column);
      float features[2][8];
      group.each(
          [&](const auto& at, int half) { load_features(features[half], at.row, at.column); },
          [&](const auto& at, int m, int half) {
            float value[8], normal[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) {
              normal[i] = at(out[m], i);
              value[i] = operand<kExact>(sigmoid(affine(i, normal[i])) * features[half][i]);
            }
            store8(&tile_.x[at.row][at.column], value);
            if (kWay == Way::none || !rows_.has(at.row) || at.column >= stride) return;
            const int to = rows_.row(at.row) * stride + at.column;
            stream8(trace_.gate + to, normal);
            if (kWay == Way::to_parameters) stream8(trace_.gated + to, value);
          });
    });
  }

  template <Way kWay>
  __device__ void merge(Product& out) {
    const NormalisedLayer layer = shape_.layer[merge_index()];
    product<Pass::forward, kExact>(tile_, weights(merge_index()), out);
    if (kWay != Way::none) fetch_first<Pass::backward>(tile_, weights(merge_index()));
    normalise(merge_index(), T::kRows, out);
    float z[1][T::kTiles][2] = {};
    for_each_group<kSize>([&](const auto& group) {
      const Affine affine(parameters_, layer, group.column);
      float w[8];
      load_units(w, parameters_ + shape_.output.weights, group.column, layer.outputs);
      group.each([&](const auto& at, int m, int half) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          z[0][m][half] += w[i] * relu(affine(i, at(out[m], i)));
        }
      });
    });
    sum_rows(tile_, z);
    const float bias = __ldg(parameters_ + shape_.output.bias);
    for_each_product_row<kSize>([&](int row, int m, int half, bool first) {
      if (first) tile_.value[row] = z[0][m][half] + bias;
    });
    __syncthreads();
  }

  // `out`: the normalised sums of the merging layer. Leaves the gradient of the sums in x.
  template <Way kWay>
  __device__ void back_through_merge(Product& out) {
    const int l = merge_index();
    const NormalisedLayer layer = shape_.layer[l];
    const int stride = stride_of_deltas(layer.outputs);
    // visit(octet, m, half, d, dn, n): gradients of the value through each unit that is on, and of
    // its normalised sum
    const auto for_each_gradient = [&](auto&& visit) {
      for_each_group<kSize>([&](const auto& group) {
        const Affine affine(parameters_, layer, group.column);
        float w[8];
        load_units(w, parameters_ + shape_.output.weights, group.column, layer.outputs);
        group.each([&](const auto& at, int m, int half) {
          float d[8], dn[8], n[8];
          const float slope = tile_.slope[at.row];
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            n[i] = at(out[m], i);
            d[i] = affine(i, n[i]) > 0 ? slope : 0.0f;
            dn[i] = d[i] * (w[i] * affine.gain[i]);
          }
          visit(at, m, half, d, dn, n);
        });
      });
    };

    NormGradient<kSize> norm;
    for_each_gradient([&](const auto& at, int m, int half, auto& d, auto& dn, auto& n) {
#pragma unroll
      for (int i = 0; i < 8; ++i) norm.add(m, half, dn[i], n[i]);
      if (kWay == Way::to_parameters) store8(&tile_.x[at.row][at.column], d);
    });
    if (kWay == Way::to_parameters) {
      sum_fractions(tile_, rows_, layer.outputs, trace_.by_shift[l]);
      for_each_gradient([&](const auto& at, int, int, auto& d, auto&, auto& n) {
#pragma unroll
        for (int i = 0; i < 8; ++i) d[i] *= n[i];
        store8(&tile_.x[at.row][at.column], d);
      });
      sum_fractions(tile_, rows_, layer.outputs, trace_.by_gain[l]);
    }
    norm.finish(tile_, layer.outputs, tile_.scale[l]);
    for_each_gradient([&](const auto& at, int m, int half, auto&, auto& dn, auto& n) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        dn[i] =
            at.column + i < layer.outputs ? operand<kExact>(norm.dx(m, half, dn[i], n[i])) : 0.0f;
      }
      store8(&tile_.x[at.row][at.column], dn);
      if (kWay == Way::to_parameters && rows_.has(at.row) && at.column < stride)
        stream8(trace_.delta[l] + rows_.row(at.row) * stride + at.column, dn);
    });
  }

  // The gate's normalised sums of a row.
  __device__ void load_gate(float (&n)[8], int row, int column) const {
    const int stride = stride_of_deltas(shape_.layer[gate_index()].outputs);
    if (rows_.has(row) && column < stride) {
      stream8(n, trace_.gate + rows_.row(row) * stride + column);
    } else {
#pragma unroll
      for (float& x : n) x = 0;
    }
  }

  // `out`: the gradient of features * gate, split between the two: the features' goes to
  // trace.delta, summed over the fractions, the gate's to trace.gate.
  template <Way kWay>
  __device__ void back_through_gate(Product& out) {
    const int l = gate_index();
    const NormalisedLayer layer = shape_.layer[l];
    const int stride = stride_of_deltas(layer.outputs);
    NormGradient<kSize> norm;
    for_each_group<kSize>([&](const auto& group) {
      const Affine affine(parameters_, layer, group.column);
      float n[2][8];
      group.each([&](const auto& at, int half) { load_gate(n[half], at.row, at.column); },
                 [&](const auto& at, int m, int half) {
                   float features[8], by_features[8];
                   load_features(features, at.row, at.column);
#pragma unroll
                   for (int i = 0; i < 8; ++i) {
                     const float g = sigmoid(affine(i, n[half][i]));
                     by_features[i] = at(out[m], i) * g;
                     const float d = by_features[i] * features[i] * (1 - g);  // before the sigmoid
                     at(out[m], i) = d;
                     norm.add(m, half, d * affine.gain[i], n[half][i]);
                   }
                   store8(&tile_.x[at.row][at.column], by_features);
                 });
    });
    sum_fractions(tile_, rows_, layer.outputs, trace_.delta[shape_.feature_layers - 1]);
    if (kWay != Way::to_parameters) return;

    for_each_group<kSize>([&](const auto& group) {
      group.each([&](const auto& at, int m, int) {
        float d[8];
#pragma unroll
        for (int i = 0; i < 8; ++i) d[i] = at(out[m], i);
        store8(&tile_.x[at.row][at.column], d);
      });
    });
    sum_fractions(tile_, rows_, layer.outputs, trace_.by_shift[l]);
    norm.finish(tile_, layer.outputs, tile_.scale[l]);
    for_each_group<kSize>([&](const auto& group) {
      float gain[8], n[2][8];
      load_units(gain, parameters_ + layer.gain, group.column, layer.outputs);
      group.each([&](const auto& at, int half) { load_gate(n[half], at.row, at.column); },
                 [&](const auto& at, int m, int half) {
                   float by_gain[8], delta[8];
#pragma unroll
                   for (int i = 0; i < 8; ++i) {
                     const float d = at(out[m], i);
                     by_gain[i] = d * n[half][i];
                     delta[i] = at.column + i < layer.outputs
                                    ? operand<kExact>(norm.dx(m, half, d * gain[i], n[half][i]))
                                    : 0.0f;
                   }
                   store8(&tile_.x[at.row][at.column], by_gain);
                   if (rows_.has(at.row) && at.column < stride)
                     stream8(trace_.gate + rows_.row(at.row) * stride + at.column, delta);
                 });
    });
    sum_fractions(tile_, rows_, layer.outputs, trace_.by_gain[l]);
  }

  // From the gradient of the last features in trace.delta to that of the first layer's sums in x.
  template <Way kWay>
  __device__ void back_through_features(Product& out) {
    for (int l = shape_.feature_layers - 1; l >= 0; --l) {
      const NormalisedLayer layer = shape_.layer[l];
      const int stride = stride_of_deltas(layer.outputs);
      if (l > 0) fetch_first<Pass::backward>(tile_, weights(l));
      const auto is_there = [&](const auto& at) {
        return at.row < rows_.count && at.column < stride;
      };
      const auto place = [&](const auto& at) {
        return (rows_.first + at.row) * stride + at.column;
      };
      const bool last = l == shape_.feature_layers - 1;
      NormGradient<kSize> norm;
      for_each_group<kSize>([&](const auto& group) {
        float gain[8];
        load_units(gain, parameters_ + layer.gain, group.column, layer.outputs);
        group.each_below(rows_.count, [&](const auto& at, int m, int half) {
          float d[8] = {}, y[8] = {}, n[8] = {};
          if (is_there(at)) {
            load8(y, trace_.features[l] + place(at));
            load8(n, trace_.feature_normal[l] + place(at));
            if (last) load8(d, trace_.delta[l] + place(at));
          }
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            if (!last) d[i] = at(out[m], i);
            d[i] = y[i] > 0 ? d[i] : 0.0f;
            at(out[m], i) = d[i];
            norm.add(m, half, d[i] * gain[i], n[i]);
          }
          if (kWay != Way::to_parameters || !is_there(at)) return;
          store8(trace_.by_shift[l] + place(at), d);
#pragma unroll
          for (int i = 0; i < 8; ++i) d[i] *= n[i];
          store8(trace_.by_gain[l] + place(at), d);
        });
      });
      norm.finish(tile_, layer.outputs, tile_.scale[l]);
      for_each_group<kSize>([&](const auto& group) {
        float gain[8];
        load_units(gain, parameters_ + layer.gain, group.column, layer.outputs);
        group.each_below(rows_.count, [&](const auto& at, int m, int half) {
          float delta[8] = {}, n[8];
          if (is_there(at)) {
            load8(n, trace_.feature_normal[l] + place(at));
#pragma unroll
            for (int i = 0; i < 8; ++i) {
              if (at.column + i < layer.outputs)
                delta[i] = operand<kExact>(norm.dx(m, half, at(out[m], i) * gain[i], n[i]));
            }
            if (kWay == Way::to_parameters) store8(trace_.delta[l] + place(at), delta);
          }
          store8(&tile_.x[at.row][at.column], delta);
        });
      });
      if (l > 0) product<Pass::backward, kExact>(tile_, weights(l), out, rows_.count);
    }
  }

  IqnTile<kSize>& tile_;
  const float* parameters_;
  const IqnShape& shape_;
  const IqnTrace& trace_;
  const IqnRows& rows_;
};

}  // namespace ovde::cuda
