#include "nn/single.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace ovde {

namespace {

constexpr int kStep = 16;  // floats per iteration of the inner loops; rows are padded to it
constexpr int kParts = kStep / kVector;
// rows per iteration, which share the loads of the other factor
constexpr int kTogether = 4;

// The rows of a layer's weights that belong to active inputs.
struct Rows {
  const float* weights;
  int stride;
  const int* active;
  int count;

  const float* operator[](int a) const {
    return weights + static_cast<std::size_t>(active[a]) * stride;
  }
  // The hardware cannot predict the order of rows, so each group prefetches the next.
  const float* after(int a) const { return (*this)[a + kTogether < count ? a + kTogether : a]; }
};

// y += sum of x * row, over rows a .. a + kCount - 1
template <int kCount>
inline void add_rows(const Rows& rows, int a, const float* x, float* y) {
  const float *row[kCount], *next[kCount];
  Vector scale[kCount];
  for (int r = 0; r < kCount; ++r) {
    row[r] = rows[a + r];
    next[r] = rows.after(a + r);
    scale[r] = splat(x[rows.active[a + r]]);
  }
  for (int o = 0; o < rows.stride; o += kStep) {
    Vector sum[kParts];
    for (int p = 0; p < kParts; ++p) sum[p] = load(y + o + p * kVector);
    for (int r = 0; r < kCount; ++r) {
      __builtin_prefetch(next[r] + o);
      for (int p = 0; p < kParts; ++p) sum[p] += load(row[r] + o + p * kVector) * scale[r];
    }
    for (int p = 0; p < kParts; ++p) store(y + o + p * kVector, sum[p]);
  }
}

inline Quad fold(Vector v) {
  Quad quads[kVector / 4];
  std::memcpy(quads, &v, sizeof(v));
  Quad sum = quads[0];
  for (int i = 1; i < kVector / 4; ++i) sum += quads[i];
  return sum;
}

// The sums of the lanes of four quads.
inline Quad sums(Quad a, Quad b, Quad c, Quad d) {
  const Quad ab =
      __builtin_shufflevector(a, b, 0, 2, 4, 6) + __builtin_shufflevector(a, b, 1, 3, 5, 7);
  const Quad cd =
      __builtin_shufflevector(c, d, 0, 2, 4, 6) + __builtin_shufflevector(c, d, 1, 3, 5, 7);
  return __builtin_shufflevector(ab, cd, 0, 2, 4, 6) + __builtin_shufflevector(ab, cd, 1, 3, 5, 7);
}

// out[active] = d . row, over rows a .. a + kCount - 1
template <int kCount>
inline void dot_rows(const Rows& rows, int a, const float* d, float* out) {
  const float *row[kCount], *next[kCount];
  Vector sum[kTogether][kParts] = {};
  for (int r = 0; r < kCount; ++r) {
    row[r] = rows[a + r];
    next[r] = rows.after(a + r);
  }
  for (int o = 0; o < rows.stride; o += kStep) {
    Vector factor[kParts];
    for (int p = 0; p < kParts; ++p) factor[p] = load(d + o + p * kVector);
    for (int r = 0; r < kCount; ++r) {
      __builtin_prefetch(next[r] + o);
      for (int p = 0; p < kParts; ++p) sum[r][p] += load(row[r] + o + p * kVector) * factor[p];
    }
  }
  Quad folded[kTogether];
  for (int r = 0; r < kTogether; ++r) {
    for (int p = 1; p < kParts; ++p) sum[r][0] += sum[r][p];
    folded[r] = fold(sum[r][0]);
  }
  const Quad total = sums(folded[0], folded[1], folded[2], folded[3]);
  for (int r = 0; r < kCount; ++r) out[rows.active[a + r]] = total[r];
}

}  // namespace

SinglePass::SinglePass(const MlpShape& shape) : shape_(shape) {
  for (int l = 0; l < shape.layers(); ++l) {
    const auto& from = shape.layer(l);
    Layer layer;
    layer.inputs = from.inputs;
    layer.stride = round_up(from.outputs, kStep);
    layer.weights = Buffer(static_cast<std::size_t>(round_up(layer.inputs, 4)) * layer.stride);
    layer.bias = Buffer(layer.stride);
    layer.input = Buffer(round_up(layer.inputs, kStep));
    layer.active.resize(layer.inputs);
    if (shape.norm() && l + 1 < shape.layers())
      layer.gain = layer.shift = layer.normal = Buffer(layer.stride);
    if (shape.ends_block(l)) layer.added = Buffer(layer.stride);
    layers_.push_back(std::move(layer));
  }
  output_ = Buffer(round_up(shape.outputs(), kStep));
  delta_ = Buffer(round_up(shape.widest(), kStep));
  next_delta_ = Buffer(delta_.size());
  if (shape.is_residual()) block_delta_ = Buffer(round_up(shape.layer(0).outputs, kStep));
}

void SinglePass::load(std::span<const float> parameters) {
  for (int l = 0; l < shape_.layers(); ++l) {
    const auto& from = shape_.layer(l);
    Layer& layer = layers_[l];
    const float* weights = parameters.data() + from.weights;
    // a cache line of the copy at a time; padding stays zero
    for (int o = 0; o < from.outputs; o += kStep) {
      for (int i = 0; i < layer.inputs; i += 4) {
        float* out = layer.weights.data() + static_cast<std::size_t>(i) * layer.stride;
        for (int q = o; q < std::min(o + kStep, from.outputs); q += 4) {
          const float* row = weights + static_cast<std::size_t>(q) * from.stride + i;
          if (q + 4 <= from.outputs) {
            transpose_quad(row, from.stride, out + q, layer.stride);
          } else {
            for (int r = q; r < from.outputs; ++r, row += from.stride) {
              for (int j = 0; j < 4; ++j) out[j * layer.stride + r] = row[j];
            }
          }
        }
      }
    }
    std::copy_n(parameters.data() + from.bias, from.outputs, layer.bias.data());
    if (!layer.gain.empty()) {
      std::copy_n(parameters.data() + from.gain, from.outputs, layer.gain.data());
      std::copy_n(parameters.data() + from.shift, from.outputs, layer.shift.data());
    }
  }
}

std::span<const float> SinglePass::forward() {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    Layer& layer = layers_[l];
    const bool hidden = l + 1 < layers_.size();
    float* y = hidden ? layers_[l + 1].input.data() : output_.data();

    // NaN counts as active; so does every sum of residual blocks, which backward() needs
    const bool sum = shape_.is_residual() && l % 2 == 1;
    int count = 0;
    for (int i = 0; i < layer.inputs; ++i) {
      layer.active[count] = i;
      count += sum || layer.input[i] != 0;
    }
    layer.actives = count;

    std::ranges::copy(layer.bias, y);
    const Rows rows{layer.weights.data(), layer.stride, layer.active.data(), count};
    const float* x = layer.input.data();
    int a = 0;
    for (; a + kTogether <= count; a += kTogether) add_rows<kTogether>(rows, a, x, y);
    for (; a < count; ++a) add_rows<1>(rows, a, x, y);

    if (shape_.has_relu(static_cast<int>(l))) {
      if (shape_.norm()) normalise(layer, layers_[l + 1].inputs, y);
      for (int o = 0; o < layer.stride; ++o) y[o] = y[o] < 0 ? 0 : y[o];
    }
    if (shape_.ends_block(static_cast<int>(l))) end_block(static_cast<int>(l), y);
  }
  return {output_.data(), static_cast<std::size_t>(outputs())};
}

// Adds the input of the block; after the last block, the RMS norm follows.
void SinglePass::end_block(int l, float* y) {
  Layer& layer = layers_[l];
  const Buffer& x = layers_[l - 1].input;
  Vector squares{};
  for (int o = 0; o < layer.stride; o += kVector) {  // beyond the outputs: zero
    const Vector added = ovde::load(y + o), sum = ovde::load(x.data() + o) + added;
    store(layer.added.data() + o, added);
    store(y + o, sum);
    squares += sum * sum;
  }
  if (!shape_.precedes_rms_norm(l)) return;
  const float share = 1.0f / static_cast<float>(shape_.layer(l).outputs);
  layer.scale = 1.0f / std::sqrt(sum_lanes(squares) * share + kRmsNormEpsilon);
  for (int o = 0; o < layer.stride; ++o) y[o] *= layer.scale;
}

// Turns delta_ from the gradient of the last layer's input into that of the last block's sum.
void SinglePass::back_through_rms_norm() {
  const Buffer& n = layers_.back().input;
  const int width = layers_.back().inputs;
  Vector products{};
  for (int o = 0; o < round_up(width, kStep); o += kVector)
    products += ovde::load(delta_.data() + o) * ovde::load(n.data() + o);
  const float correlation = sum_lanes(products) / static_cast<float>(width);
  const float scale = layers_[layers_.size() - 2].scale;
  for (int o = 0; o < width; ++o) delta_[o] = scale * (delta_[o] - n[o] * correlation);
}

void SinglePass::normalise(Layer& layer, int outputs, float* y) {
  const float share = 1.0f / static_cast<float>(outputs);
  const auto sum = [&](auto&& term) {
    Vector sum{};
    for (int o = 0; o < layer.stride; o += kVector) sum += term(ovde::load(y + o));
    return sum_lanes(sum);
  };
  const float mean = sum([](Vector x) { return x; }) * share;  // beyond the outputs: zero
  for (int o = 0; o < outputs; ++o) y[o] -= mean;
  layer.scale = 1.0f / std::sqrt(sum([](Vector x) { return x * x; }) * share + kNormEpsilon);
  for (int o = 0; o < outputs; ++o) {
    layer.normal[o] = y[o] * layer.scale;
    y[o] = layer.normal[o] * layer.gain[o] + layer.shift[o];
  }
}

// Turns delta_ from the gradient of the layer's output, masked by its ReLU, into that of its linear
// output.
void SinglePass::back_through_norm(const Layer& layer, int outputs) {
  Vector sum{}, products{};
  for (int o = 0; o < outputs; ++o) delta_[o] *= layer.gain[o];
  for (int o = 0; o < layer.stride; o += kVector) {  // beyond the outputs: zero
    sum += ovde::load(delta_.data() + o);
    products += ovde::load(delta_.data() + o) * ovde::load(layer.normal.data() + o);
  }
  const float mean = sum_lanes(sum) / static_cast<float>(outputs),
              correlation = sum_lanes(products) / static_cast<float>(outputs);
  for (int o = 0; o < outputs; ++o)
    delta_[o] = layer.scale * (delta_[o] - mean - layer.normal[o] * correlation);
}

void SinglePass::backward(std::span<const float> output_gradient, int first,
                          std::span<float> input_gradient) {
  std::ranges::fill(delta_, 0.0f);
  std::ranges::copy(output_gradient, delta_.begin());
  for (std::size_t l = layers_.size(); l-- > 0;) {
    // active units in hidden layers; the requested inputs in the first
    Layer& layer = layers_[l];
    if (l == 0) {
      layer.actives = static_cast<int>(input_gradient.size());
      std::iota(layer.active.begin(), layer.active.begin() + layer.actives, first);
    }
    if (shape_.ends_block(static_cast<int>(l))) {
      std::copy_n(delta_.begin(), layer.stride, block_delta_.begin());
      for (int o = 0; o < layer.stride; ++o) delta_[o] = layer.added[o] > 0 ? delta_[o] : 0;
    }
    std::fill_n(next_delta_.begin(), round_up(layer.inputs, kStep), 0.0f);
    const Rows rows{layer.weights.data(), layer.stride, layer.active.data(), layer.actives};
    const float* d = delta_.data();
    float* out = next_delta_.data();
    int a = 0;
    for (; a + kTogether <= rows.count; a += kTogether) dot_rows<kTogether>(rows, a, d, out);
    for (; a < rows.count; ++a) dot_rows<1>(rows, a, d, out);
    delta_.swap(next_delta_);
    if (l > 0 && shape_.norm()) back_through_norm(layers_[l - 1], layer.inputs);
    if (!shape_.is_residual() || l % 2 == 0) continue;
    if (l + 1 == layers_.size()) {
      back_through_rms_norm();
    } else {
      for (int i = 0; i < layer.inputs; ++i) delta_[i] += block_delta_[i];
    }
  }
  std::copy_n(delta_.begin() + first, input_gradient.size(), input_gradient.begin());
}

}  // namespace ovde
