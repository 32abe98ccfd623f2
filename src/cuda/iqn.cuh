// An implicit quantile network (nn/iqn.h) forward and backward on a tile: its rows are all
// fractions of a few samples, one sample after another; while the features are computed, the first
// rows are the samples themselves. What a row or a sample gets does not depend on the others of its
// tile.
#pragma once

#include "cuda/iqn_tile.cuh"

namespace ovde::cuda {

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

  // Adds the bias to a product of layer l and normalises its first `rows` rows.
  __device__ void normalise(int l, int rows, Product& out) {
    const LayerShape layer = shape_.layer[l];
    const float* bias = parameters_ + layer.bias;
    if (shape_.norm) {
      cuda::normalise<kSize>(tile_, bias, layer.outputs, rows, out,
                             [&](int row, float scale) { tile_.scale[l][row] = scale; });
      return;
    }
    for_each_group<kSize>([&](const auto& group) {
      float b[8];
      load_units(b, bias, group.column, layer.outputs);
      group.each_below(rows, [&](const auto& at, int m, int) {
#pragma unroll
        for (int i = 0; i < 8; ++i) at(out[m], i) += b[i];
      });
    });
    for_each_product_row<kSize>([&](int row, int, int, bool first) {
      if (first) tile_.scale[l][row] = 1;
    });
  }

  template <Way kWay>
  __device__ void features(Product& out) {
    for (int l = 0; l < shape_.feature_layers; ++l) {
      const LayerShape layer = shape_.layer[l];
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
    const LayerShape layer = shape_.layer[gate_index()];
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
    const LayerShape layer = shape_.layer[merge_index()];
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
    sum_rows<kSize>(tile_.part, z);
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
    const LayerShape layer = shape_.layer[l];
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
    norm.finish(tile_, layer.outputs, tile_.scale[l], shape_.norm);
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
    const LayerShape layer = shape_.layer[l];
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
    norm.finish(tile_, layer.outputs, tile_.scale[l], shape_.norm);
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
      const LayerShape layer = shape_.layer[l];
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
      norm.finish(tile_, layer.outputs, tile_.scale[l], shape_.norm);
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
