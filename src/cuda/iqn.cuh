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

  __device__ IqnPass(IqnTile<kExact, kSize>& tile, const PassParameters& network,
                     const IqnShape& shape, const IqnTrace& trace, const IqnRows& rows)
      : tile_(tile), network_(network), shape_(shape), trace_(trace), rows_(rows) {}

  // The first weights and the layers' vectors on their way; then the caller may fill x.
  __device__ void begin() {
    constexpr int kParts = kMostWidth / 4;
    const int i = threadIdx.x % kParts * 4;
    for (int v = threadIdx.x / kParts; v < 3 * merge_index() + 4; v += T::kThreads / kParts) {
      const LayerShape& layer = shape_.layer[min(v / 3, merge_index())];
      float* to = v % 3 == 0   ? tile_.bias[v / 3]
                  : v % 3 == 1 ? tile_.gain[v / 3]
                               : tile_.shift[v / 3];
      int from = v % 3 == 0 ? layer.bias : v % 3 == 1 ? layer.gain : layer.shift;
      if (v == 3 * merge_index() + 3) {
        to = tile_.output;
        from = shape_.output.weights;
      }
      const bool valid = i < layer.outputs;
      copy_async(to + i, parameters(valid ? from + i : 0), valid);
    }
    fetch_first<Pass::forward>(tile_, weights(0));
  }

  // From the input of each sample in x (zero up to a multiple of 32 columns) and the fractions to
  // the values in tile.value. With a way back, `merged` has what it begins with; all the way to the
  // parameters, the cosines are kept where there is room for them. Ends with every thread done.
  template <Way kWay>
  __device__ void forward(Product& merged, float* cosines) {
    features<kWay>(merged);
    embed(numbers(cosines));
    gate<kWay>(merged);
    merge<kWay>(merged);
  }

  // From the gradient by the values in tile.slope to that of the first layer's sums in x, rows
  // being samples; what the gradients of the parameters need is kept. idle() is called when the
  // weights' memory is no longer used.
  template <Way kWay, typename Idle>
  __device__ void backward(Product& merged, Idle&& idle) {
    back_through_merge<kWay>(merged);
    multiply_back<T::kTiles>(merge_index(), T::kRows, merged);
    back_through_gate<kWay>(merged);
    back_through_features<kWay>(merged, idle);
  }

 private:
  using Number = std::conditional_t<kExact, float, __half>;  // of rows in memory
  static __device__ Number* numbers(float* memory) { return reinterpret_cast<Number*>(memory); }

  __device__ int gate_index() const { return shape_.feature_layers; }
  __device__ int merge_index() const { return shape_.feature_layers + 1; }
  __device__ const float* parameters(int at) const { return network_.values + at; }

  __device__ auto weights(int l) const {
    const LayerShape& layer = shape_.layer[l];
    if constexpr (kExact) {
      return Weights(network_.values, layer);
    } else {
      return HalfWeights{network_.forward[l], network_.backward[l], layer.outputs, layer.stride};
    }
  }

  __device__ Affine gain_and_shift(int l, int column) const {
    return Affine(tile_.gain[l], tile_.shift[l], column);
  }

  // `out` = what layer l makes of x, normalised, for its first 16 * kMost rows of each warp and at
  // least the first `rows` rows; meanwhile next() fetches what comes after it.
  template <int kMost, typename Next>
  __device__ void apply(int l, int rows, Product& out, Next&& next) {
    const LayerShape layer = shape_.layer[l];
    const float* bias = tile_.bias[l];
    const auto keep = [&](int row, float scale) { tile_.scale[l][row] = scale; };
    if constexpr (kExact) {
      product<Pass::forward>(tile_, weights(l), out, rows);
      next();
      if (shape_.norm) {
        normalise<kSize>(tile_, bias, layer.outputs, rows, out, keep);
        return;
      }
    } else if (l == 0) {
      wait_for_copies<HalfTile<kSize>::kStages - 2>();  // the vectors are there
      __syncthreads();
    }
    for_each_group<kSize>([&](const auto& group) {
      float b[8];
      load8(b, bias + group.column);
      group.template each_of<kMost>([&](const auto& at, int m, int) {
#pragma unroll
        for (int i = 0; i < 8; ++i) at(out[m], i) = kExact ? at(out[m], i) + b[i] : b[i];
      });
    });
    if constexpr (!kExact) {
      add_product<Pass::forward, kMost>(tile_, weights(l), out, rows);
      next();
      if (shape_.norm) {
        normalise_by_moments<kSize, kMost>(tile_, layer.outputs, out, keep);
        return;
      }
    }
    for_each_product_row<kSize>([&](int row, int, int, bool first) {
      if (first) keep(row, 1.0f);
    });
  }

  // `out` = the gradient of layer l's input from that of its sums in x.
  template <int kMost>
  __device__ void multiply_back(int l, int rows, Product& out) {
    if constexpr (kExact) {
      product<Pass::backward>(tile_, weights(l), out, rows);
    } else {
#pragma unroll
      for (int m = 0; m < kMost; ++m)
#pragma unroll
        for (auto& tile : out[m])
#pragma unroll
          for (float& x : tile) x = 0;
      add_product<Pass::backward, kMost>(tile_, weights(l), out, rows);
    }
  }

  template <Way kWay>
  __device__ void features(Product& out) {
    for (int l = 0; l < shape_.feature_layers; ++l) {
      const LayerShape layer = shape_.layer[l];
      const int stride = stride_of_deltas(layer.outputs);
      apply<1>(l, rows_.count, out, [&] { fetch_first<Pass::forward>(tile_, weights(l + 1)); });
      for_each_group<kSize>([&](const auto& group) {
        const Affine affine = gain_and_shift(l, group.column);
        group.template each_of<1>([&](const auto& at, int m, int) {
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
  __device__ void embed(Number* cosines) {
    for (int j = threadIdx.x % 32; j < kCosines; j += 32) {
      for_each_row<kSize>([&](int r, int) {
        store(tile_.x[r][j], cosine<kExact>(j + 1, tile_.tau[r]));
        if (cosines != nullptr && rows_.has(r))
          cosines[tile_.row[r] * kCosines + j] = tile_.x[r][j];
      });
    }
  }

  // The last features of the sample that row `row` belongs to; beyond them, any.
  __device__ void load_features(float (&v)[8], int row, int column) const {
    const int stride = stride_of_deltas(shape_.layer[gate_index()].outputs);
    load8(v, trace_.features[shape_.feature_layers - 1] + tile_.sample[row] * stride +
                 (column < stride ? column : 0));
  }

  template <Way kWay>
  __device__ void gate(Product& out) {
    const LayerShape layer = shape_.layer[gate_index()];
    const int stride = stride_of_deltas(layer.outputs);
    apply<T::kTiles>(gate_index(), T::kRows, out,
                     [&] { fetch_first<Pass::forward>(tile_, weights(merge_index())); });
    for_each_group<kSize>([&](const auto& group) {
      const Affine affine = gain_and_shift(gate_index(), group.column);
      float features[2][8];
      group.each(
          [&](const auto& at, int half) { load_features(features[half], at.row, at.column); },
          [&](const auto& at, int m, int half) {
            float value[8], normal[8];
#pragma unroll
            for (int i = 0; i < 8; ++i) {
              normal[i] = at(out[m], i);
              value[i] = sigmoid<kExact>(affine(i, normal[i])) * features[half][i];
            }
            store8(&tile_.x[at.row][at.column], value);
            if (kWay == Way::none || !rows_.has(at.row) || at.column >= stride) return;
            const int to = tile_.row[at.row] * stride + at.column;
            stream8(numbers(trace_.gate) + to, normal);
            if (kWay == Way::to_parameters) stream8(numbers(trace_.gated) + to, value);
          });
    });
  }

  template <Way kWay>
  __device__ void merge(Product& out) {
    const LayerShape layer = shape_.layer[merge_index()];
    apply<T::kTiles>(merge_index(), T::kRows, out, [&] {
      if (kWay != Way::none) fetch_first<Pass::backward>(tile_, weights(merge_index()));
    });
    float z[1][T::kTiles][2] = {};
    for_each_group<kSize>([&](const auto& group) {
      const Affine affine = gain_and_shift(merge_index(), group.column);
      float w[8];
      load8(w, tile_.output + group.column);
      group.each([&](const auto& at, int m, int half) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          z[0][m][half] += w[i] * relu(affine(i, at(out[m], i)));
        }
      });
    });
    sum_rows<kSize>(tile_.part, z);
    const float bias = __ldg(parameters(shape_.output.bias));
    for_each_product_row<kSize>([&](int row, int m, int half, bool first) {
      if (first) tile_.value[row] = z[0][m][half] + bias;
    });
    __syncthreads();
  }

  // Where this warp's sums of layer l go.
  __device__ void write_sums(UnitSums& sums, int l, int column) const {
    const int stride = stride_of_deltas(shape_.layer[l].outputs);
    const int row = rows_.tile * T::kWarpRows + threadIdx.x / 128;
    sums.write(trace_.by_gain[l] + row * stride, trace_.by_shift[l] + row * stride, column, stride);
  }

  // `out`: the normalised sums of the merging layer. Leaves the gradient of the sums in x.
  template <Way kWay>
  __device__ void back_through_merge(Product& out) {
    const int l = merge_index();
    const LayerShape layer = shape_.layer[l];
    const int stride = stride_of_deltas(layer.outputs);
    // visit(octet, m, half, d, dn, n): gradients of the value through each unit that is on, and of
    // its normalised sum; after each group, end(column)
    const auto for_each_gradient = [&](auto&& visit, auto&& end) {
      for_each_group<kSize>([&](const auto& group) {
        const Affine affine = gain_and_shift(l, group.column);
        float w[8];
        load8(w, tile_.output + group.column);
#pragma unroll
        for (int i = 0; i < 8; ++i) w[i] *= affine.gain[i];
        group.each([&](const auto& at, int m, int half) {
          float d[8], dn[8], n[8];
          const float slope = tile_.slope[at.row];
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            n[i] = at(out[m], i);
            d[i] = affine(i, n[i]) > 0 ? slope : 0.0f;
            dn[i] = d[i] * w[i];
          }
          visit(at, m, half, d, dn, n);
        });
        end(group.column);
      });
    };

    NormGradient<kSize> norm;
    UnitSums sums;
    for_each_gradient(
        [&](const auto&, int m, int half, auto& d, auto& dn, auto& n) {
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            norm.add(m, half, dn[i], n[i]);
            if (kWay == Way::to_parameters) sums.add(i, d[i], n[i]);
          }
        },
        [&](int column) {
          if (kWay != Way::to_parameters) return;
          write_sums(sums, l, column);
          sums = UnitSums();
        });
    norm.finish(tile_, layer.outputs, tile_.scale[l], shape_.norm);
    for_each_gradient(
        [&](const auto& at, int m, int half, auto&, auto& dn, auto& n) {
#pragma unroll
          for (int i = 0; i < 8; ++i) dn[i] = norm.dx(m, half, dn[i], n[i]);
          store8(&tile_.x[at.row][at.column], dn);
          if (kWay == Way::to_parameters && rows_.has(at.row) && at.column < stride)
            stream8(numbers(trace_.delta[l]) + tile_.row[at.row] * stride + at.column, dn);
        },
        [](int) {});
  }

  // The gate's normalised sums of this lane's rows, all asked for before the first is used; those
  // of other rows or columns where there are none.
  struct GateSums {
    using Packed = std::conditional_t<kExact, Eight, uint4>;
    __device__ GateSums(const IqnPass& pass, const OctetGroup<kSize>& group) {
      const int stride = stride_of_deltas(pass.shape_.layer[pass.gate_index()].outputs);
      const Number* from = numbers(pass.trace_.gate) + (group.column < stride ? group.column : 0);
      group.each([&](const auto& at, int m, int half) {
        packed[m][half] = stream8(from + pass.tile_.row[at.row] * stride);
      });
    }
    Packed packed[T::kTiles][2];
  };

  // `out`: the gradient of features * gate, split between the two: the features' goes to
  // trace.delta, summed over the fractions, the gate's to trace.gate.
  template <Way kWay>
  __device__ void back_through_gate(Product& out) {
    const int l = gate_index();
    const LayerShape layer = shape_.layer[l];
    const int stride = stride_of_deltas(layer.outputs);
    NormGradient<kSize> norm;
    for_each_group<kSize>([&](const auto& group) {
      const Affine affine = gain_and_shift(l, group.column);
      const GateSums gate_sums(*this, group);
      UnitSums sums;
      group.each([&](const auto& at, int m, int half) {
        float n[8], features[8], by_features[8];
        unpack8(n, gate_sums.packed[m][half]);
        load_features(features, at.row, at.column);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const float g = sigmoid<kExact>(affine(i, n[i]));
          by_features[i] = at(out[m], i) * g;
          const float d = by_features[i] * features[i] * (1 - g);  // before the sigmoid
          at(out[m], i) = d;
          norm.add(m, half, d * affine.gain[i], n[i]);
          if (kWay == Way::to_parameters) sums.add(i, d, n[i]);
        }
        store8(&tile_.x[at.row][at.column], by_features);
      });
      if (kWay == Way::to_parameters) write_sums(sums, l, group.column);
    });
    sum_fractions(tile_, rows_, layer.outputs, trace_.delta[shape_.feature_layers - 1]);
    if (kWay != Way::to_parameters) return;

    norm.finish(tile_, layer.outputs, tile_.scale[l], shape_.norm);
    for_each_group<kSize>([&](const auto& group) {
      const GateSums gate_sums(*this, group);
      float gain[8];
      load8(gain, tile_.gain[l] + group.column);
      group.each([&](const auto& at, int m, int half) {
        float n[8], delta[8];
        unpack8(n, gate_sums.packed[m][half]);
#pragma unroll
        for (int i = 0; i < 8; ++i) delta[i] = norm.dx(m, half, at(out[m], i) * gain[i], n[i]);
        if (rows_.has(at.row) && at.column < stride)
          stream8(numbers(trace_.gate) + tile_.row[at.row] * stride + at.column, delta);
      });
    });
  }

  // From the gradient of the last features in trace.delta to that of the first layer's sums in x.
  template <Way kWay, typename Idle>
  __device__ void back_through_features(Product& out, Idle&& idle) {
    for (int l = shape_.feature_layers - 1; l >= 0; --l) {
      const LayerShape layer = shape_.layer[l];
      const int stride = stride_of_deltas(layer.outputs);
      if (l > 0) {
        fetch_first<Pass::backward>(tile_, weights(l));
      } else {
        idle();
      }
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
        load8(gain, tile_.gain[l] + group.column);
        group.template each_of<1>([&](const auto& at, int m, int half) {
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
        load8(gain, tile_.gain[l] + group.column);
        group.template each_of<1>([&](const auto& at, int m, int half) {
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
      if (l > 0) multiply_back<1>(l, rows_.count, out);
    }
  }

  IqnTile<kExact, kSize>& tile_;
  PassParameters network_;
  const IqnShape& shape_;
  const IqnTrace& trace_;
  const IqnRows& rows_;
};

}  // namespace ovde::cuda
