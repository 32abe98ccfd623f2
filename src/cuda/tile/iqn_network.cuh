// Forward and backward passes of an implicit quantile network (nn/iqn.h) on tiles, in two steps:
// the features of many samples, whose rows are samples, then all fractions of a few samples. The
// steps communicate through memory (IqnTrace). The result of a row or a sample does not depend on
// the others of its tile.
#pragma once

#include "cuda/tile/fraction_rows.cuh"

namespace ovde::cuda {

// How far a backward pass goes.
enum class Way { none, to_inputs, to_parameters };

__device__ inline float* last_features(const Agent& agent, int k) {
  return agent.iqn_trace[k].features[agent.critic_shape.feature_layers() - 1];
}

// Functions of both steps.
template <bool kExact, int kSize>
class IqnLayers {
 public:
  using T = Tile<kSize>;
  using Product = float[T::kTiles][8][4];

 protected:
  using Number = std::conditional_t<kExact, float, __half>;  // in the rows of a trace

  __device__ IqnLayers(IqnTile<kExact, kSize>& tile, const PassParameters& network,
                       const NetworkShape& shape, const IqnTrace& trace, const IqnRows& rows)
      : tile_(tile), network_(network), shape_(shape), trace_(trace), rows_(rows) {}

  __device__ int gate_index() const { return shape_.feature_layers(); }
  __device__ int merge_index() const { return shape_.feature_layers() + 1; }
  __device__ const float* parameters(int at) const { return network_.values + at; }

  __device__ auto weights(int l) const { return weights_of<kExact>(network_, shape_.layer, l); }

  // Starts to copy bias, gain and shift of layers first .. last - 1.
  __device__ void begin_vectors(int first, int last) {
    fetch_vectors(tile_, network_.values, shape_.layer, first, last, 3);
  }
  // `out` = the normalised sums of layer l at x, for at least the first `rows` rows. Calls
  // keep(row, scale) once for each row; next() starts the following copies.
  template <typename Keep, typename Next>
  __device__ void apply(int l, int rows, Product& out, Keep&& keep, Next&& next) {
    const int units = shape_.layer[l].outputs;
    product<Pass::forward>(tile_, weights(l), out, rows);
    next();
    normalise<kExact, kSize>(tile_, tile_.bias[l], units, rows, shape_.norm, out, keep);
  }

  // Writes this warp's sums of layer l.
  __device__ void write_sums(UnitSums& sums, int l, int column) const {
    const int stride = stride_of_deltas(shape_.layer[l].outputs);
    const int row = rows_.tile * T::kWarpRows + threadIdx.x / 128;
    sums.write(trace_.by_gain[l] + row * stride, trace_.by_shift[l] + row * stride, column, stride);
  }

  IqnTile<kExact, kSize>& tile_;
  PassParameters network_;
  const NetworkShape& shape_;
  const IqnTrace& trace_;
  const IqnRows& rows_;
};

// The features of samples: rows of one fraction each.
template <bool kExact, int kSize>
class FeaturePass : IqnLayers<kExact, kSize> {
  using Base = IqnLayers<kExact, kSize>;
  using Base::tile_, Base::shape_, Base::trace_, Base::rows_;

 public:
  using typename Base::Product;

  __device__ FeaturePass(IqnTile<kExact, kSize>& tile, const PassParameters& network,
                         const NetworkShape& shape, const IqnTrace& trace, const IqnRows& rows)
      : Base(tile, network, shape, trace, rows) {}

  // Starts to copy the first weights and the layers' vectors; then the caller fills x.
  __device__ void begin() {
    this->begin_vectors(0, shape_.feature_layers());
    fetch_first<Pass::forward>(tile_, this->weights(0));
  }

  // From the input of each sample in x (zero up to a multiple of 32 columns) to its last features
  // in memory; `kept`: keeps the numbers that backward() needs. Ends with a barrier.
  __device__ void forward(float* last, bool kept) {
    Product out;
    wait_for_vectors(tile_);
    for (int l = 0; l < shape_.feature_layers(); ++l) {
      const int stride = stride_of_deltas(shape_.layer[l].outputs);
      const bool is_last = l == shape_.feature_layers() - 1;
      float *scales = trace_.feature_scale[l], *normals = trace_.feature_normal[l],
            *features = is_last ? last
                        : kept  ? trace_.features[l]
                                : nullptr;
      this->apply(
          l, rows_.count, out,
          [&](int row, float scale) {
            if (kept && row < rows_.count) scales[rows_.first + row] = scale;
          },
          [&] {
            if (!is_last) fetch_first<Pass::forward>(tile_, this->weights(l + 1));
          });
      for_each_group<kSize>([&](const auto& group) {
        const Affine affine(tile_.gain[l], tile_.shift[l], group.column);
        group.each([&](const auto& at, int m, int) {
          float value[8], normal[8];
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            normal[i] = at(out[m], i);
            value[i] = operand<kExact>(relu(affine(i, normal[i])));
          }
          store8(&tile_.x[at.row][at.column], value);
          if (at.row >= rows_.count || at.column >= stride) return;
          const int to = (rows_.first + at.row) * stride + at.column;
          if (features != nullptr) store8(features + to, value);
          if (kept) store8(normals + to, normal);
        });
      });
    }
    __syncthreads();
  }

  // Starts to copy the vectors of backward(). No thread may still read the weights' memory.
  __device__ void begin_backward() {
    this->begin_vectors(0, shape_.feature_layers());
    commit_copies();
  }

  // From the gradient of the last features in trace.delta to that of the first layer's sums in x.
  // Way::to_parameters: keeps the terms of the parameters' gradients.
  template <Way kWay>
  __device__ void backward() {
    Product out;
    wait_for_copies<0>();
    __syncthreads();
    for (int l = shape_.feature_layers() - 1; l >= 0; --l) {
      const LayerShape layer = shape_.layer[l];
      const int stride = stride_of_deltas(layer.outputs);
      if (l > 0) fetch_first<Pass::backward>(tile_, this->weights(l));
      const auto is_there = [&](const auto& at) {
        return at.row < rows_.count && at.column < stride;
      };
      const auto place = [&](const auto& at) {
        return (rows_.first + at.row) * stride + at.column;
      };
      const bool is_last = l == shape_.feature_layers() - 1;
      NormGradient<kSize> norm;
      for_each_group<kSize>([&](const auto& group) {
        const Affine affine(tile_.gain[l], tile_.shift[l], group.column);
        UnitSums sums;
        group.each([&](const auto& at, int m, int half) {
          float d[8] = {}, n[8] = {};
          if (is_there(at)) {
            load8(n, trace_.feature_normal[l] + place(at));
            if (is_last) load8(d, trace_.delta[l] + place(at));
          }
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            if (!is_last && is_there(at)) d[i] = at(out[m], i);
            d[i] = affine(i, n[i]) > 0 ? d[i] : 0.0f;
            at(out[m], i) = d[i];
            norm.add(m, half, d[i] * affine.gain[i], n[i]);
            if (kWay == Way::to_parameters) sums.add(i, d[i], n[i]);
          }
        });
        if (kWay == Way::to_parameters) this->write_sums(sums, l, group.column);
      });
      norm.finish(tile_, layer.outputs, trace_.feature_scale[l] + rows_.first, shape_.norm);
      for_each_group<kSize>([&](const auto& group) {
        float gain[8];
        load8(gain, tile_.gain[l] + group.column);
        group.each([&](const auto& at, int m, int half) {
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
      if (l > 0) product<Pass::backward>(tile_, this->weights(l), out, rows_.count);
    }
  }
};

// The fractions of a few samples, whose last features are in memory.
template <bool kExact, int kSize>
class FractionPass : IqnLayers<kExact, kSize> {
  using Base = IqnLayers<kExact, kSize>;
  using Base::tile_, Base::shape_, Base::trace_, Base::rows_, Base::gate_index, Base::merge_index;
  using typename Base::Number;
  using typename Base::T;

 public:
  using typename Base::Product;

  __device__ FractionPass(IqnTile<kExact, kSize>& tile, const PassParameters& network,
                          const NetworkShape& shape, const IqnTrace& trace, const IqnRows& rows,
                          const float* features)
      : Base(tile, network, shape, trace, rows), features_(features) {
    assume_global(features);
  }

  // As FeaturePass::begin().
  __device__ void begin() {
    this->begin_vectors(gate_index(), merge_index() + 1);
    if (const int i = threadIdx.x * 4; i < kMostWidth) {
      const bool valid = i < shape_.layer[merge_index()].outputs;
      copy_async(tile_.output + i, this->parameters(valid ? shape_.output.weights + i : 0), valid);
    }
    fetch_first<Pass::forward>(tile_, this->weights(gate_index()));
  }

  // From the fractions to the values in tile.value. Leaves the merging layer's sums in `merged` for
  // backward(), and the cosines in `cosines` unless it is null. Ends with a barrier.
  template <Way kWay>
  __device__ void forward(Product& merged, float* cosines) {
    embed(cosines != nullptr ? numbers<kExact>(cosines) : nullptr);
    wait_for_vectors(tile_);
    gate<kWay>(merged);
    merge<kWay>(merged);
  }

  // From the gradient by the values in tile.slope to that of the last features in trace.delta,
  // summed over the fractions.
  template <Way kWay>
  __device__ void backward(Product& merged) {
    back_through_merge<kWay>(merged);
    product<Pass::backward>(tile_, this->weights(merge_index()), merged);
    back_through_gate<kWay>(merged);
  }

 private:
  __device__ Affine gain_and_shift(int l, int column) const {
    return Affine(tile_.gain[l], tile_.shift[l], column);
  }

  // Offset in an array with a row for each fraction of each sample.
  __device__ int place(const Octet<kSize>& at, int stride) const {
    return (rows_.row(0) + at.row) * stride + at.column;
  }

  // x = cos(pi j tau)
  __device__ void embed(Number* cosines) {
    for_each_place<kSize>(kCosines, [&](int r, int j) {
      store(tile_.x[r][j], cosine<kExact>(j + 1, tile_.tau[r]));
      if (cosines != nullptr && rows_.has(r))
        cosines[(rows_.row(0) + r) * kCosines + j] = tile_.x[r][j];
    });
  }

  // The last features of row `row`'s sample; any numbers beyond them.
  __device__ void load_features(float (&v)[8], int row, int column) const {
    const int stride = stride_of_deltas(shape_.layer[gate_index()].outputs);
    load8(v, features_ + tile_.sample[row] * stride + (column < stride ? column : 0));
  }

  template <Way kWay>
  __device__ void gate(Product& out) {
    const LayerShape layer = shape_.layer[gate_index()];
    const int stride = stride_of_deltas(layer.outputs);
    this->apply(
        gate_index(), T::kRows, out, [&](int row, float scale) { tile_.gate_scale[row] = scale; },
        [&] { fetch_first<Pass::forward>(tile_, this->weights(merge_index())); });
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
            const int to = place(at, stride);
            stream8(numbers<kExact>(trace_.gate) + to, normal);
            if (kWay == Way::to_parameters) stream8(numbers<kExact>(trace_.gated) + to, value);
          });
    });
  }

  template <Way kWay>
  __device__ void merge(Product& out) {
    const LayerShape layer = shape_.layer[merge_index()];
    this->apply(
        merge_index(), T::kRows, out, [&](int row, float scale) { tile_.merge_scale[row] = scale; },
        [&] {
          if (kWay != Way::none) fetch_first<Pass::backward>(tile_, this->weights(merge_index()));
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
    const float bias = __ldg(this->parameters(shape_.output.bias));
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
    // the gradient by the value is a factor of all numbers of a row
    if (const int r = threadIdx.x; r < T::kRows) tile_.merge_scale[r] *= tile_.slope[r];
    // visit(octet, m, half, on, w, n): which of eight units are active, the gradient of the value
    // by their normalised sums if they are, and those sums; end(column) after each group
    const auto for_each_octet = [&](auto&& visit, auto&& end) {
      for_each_group<kSize>([&](const auto& group) {
        const Affine affine = gain_and_shift(l, group.column);
        float w[8];
        load8(w, tile_.output + group.column);
#pragma unroll
        for (int i = 0; i < 8; ++i) w[i] *= affine.gain[i];
        group.each([&](const auto& at, int m, int half) {
          bool on[8];
          float n[8];
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            n[i] = at(out[m], i);
            on[i] = affine(i, n[i]) > 0;
          }
          visit(at, m, half, on, w, n);
        });
        end(group.column);
      });
    };

    NormGradient<kSize> norm;
    UnitSums sums;
    for_each_octet(
        [&](const auto& at, int m, int half, auto& on, auto& w, auto& n) {
          const float slope = tile_.slope[at.row];
#pragma unroll
          for (int i = 0; i < 8; ++i) {
            if (!on[i]) continue;
            norm.add(m, half, w[i], n[i]);
            if (kWay == Way::to_parameters) sums.add(i, slope, n[i]);
          }
        },
        [&](int column) {
          if (kWay != Way::to_parameters) return;
          this->write_sums(sums, l, column);
          sums = UnitSums();
        });
    norm.finish(tile_, layer.outputs, tile_.merge_scale, shape_.norm);
    for_each_octet(
        [&](const auto& at, int m, int half, auto& on, auto& w, auto& n) {
          float delta[8];
#pragma unroll
          for (int i = 0; i < 8; ++i) delta[i] = norm.dx(m, half, w[i], n[i], on[i]);
          store8(&tile_.x[at.row][at.column], delta);
          if (kWay == Way::to_parameters && rows_.has(at.row) && at.column < stride)
            stream8(numbers<kExact>(trace_.delta[l]) + place(at, stride), delta);
        },
        [](int) {});
  }

  // Starts to copy the gate's normalised sums, which forward() has kept, to the weights' memory,
  // which no thread may still use; zero where there are none.
  __device__ Number* gate_sums(int row, int column) const {
    return tile_.weights + row * IqnTile<kExact, kSize>::kStride + column;
  }
  __device__ void fetch_gate_sums(int stride) {
    constexpr int kEach = 16 / sizeof(Number), kParts = kMostWidth / kEach;
    const int column = threadIdx.x % kParts * kEach;
    const Number* from = numbers<kExact>(trace_.gate) + rows_.row(0) * stride;
#pragma unroll
    for (int row = threadIdx.x / kParts; row < T::kRows; row += T::kThreads / kParts) {
      const bool valid = rows_.has(row) && column < stride;
      copy_async(gate_sums(row, column), from + (valid ? row * stride + column : 0), valid);
    }
    commit_copies();
  }

  // `out`: the gradient of features * gate. The features' gradient goes to trace.delta, summed over
  // the fractions, the gate's to trace.gate.
  template <Way kWay>
  __device__ void back_through_gate(Product& out) {
    const int l = gate_index();
    const LayerShape layer = shape_.layer[l];
    const int stride = stride_of_deltas(layer.outputs);
    fetch_gate_sums(stride);
    wait_for_copies<0>();
    __syncthreads();
    NormGradient<kSize> norm;
    for_each_group<kSize>([&](const auto& group) {
      const Affine affine = gain_and_shift(l, group.column);
      UnitSums sums;
      group.each([&](const auto& at, int m, int half) {
        float n[8], features[8], by_features[8];
        load8(n, gate_sums(at.row, at.column));
        load_features(features, at.row, at.column);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const float g = sigmoid<kExact>(affine(i, n[i]));
          by_features[i] = at(out[m], i) * g;
          const float q = by_features[i] * features[i], d = q - q * g;  // before the sigmoid
          const float dn = d * affine.gain[i];
          at(out[m], i) = dn;
          norm.add(m, half, dn, n[i]);
          if (kWay == Way::to_parameters) sums.add(i, d, n[i]);
        }
        store8(&tile_.x[at.row][at.column], by_features);
      });
      if (kWay == Way::to_parameters) this->write_sums(sums, l, group.column);
    });
    sum_fractions(tile_, rows_, layer.outputs, trace_.delta[shape_.feature_layers() - 1]);
    if (kWay != Way::to_parameters) return;

    norm.finish(tile_, layer.outputs, tile_.gate_scale, shape_.norm);
    for_each_group<kSize>([&](const auto& group) {
      group.each([&](const auto& at, int m, int half) {
        float n[8], delta[8];
        load8(n, gate_sums(at.row, at.column));
#pragma unroll
        for (int i = 0; i < 8; ++i) delta[i] = norm.dx(m, half, at(out[m], i), n[i]);
        if (rows_.has(at.row) && at.column < stride)
          stream8(numbers<kExact>(trace_.gate) + place(at, stride), delta);
      });
    });
  }

  const float* features_;
};

}  // namespace ovde::cuda
