#include "nn/single.h"

#include <algorithm>

namespace ovde {

namespace {

constexpr int kStep = 16;  // floats per turn of the inner loop; rows are padded to a multiple of it
constexpr int kParts = kStep / kVector;

// y[r] = w[r] . x for kCount rows
template <int kCount>
inline void dot_rows(const float* w, int stride, const float* x, float* y) {
  Vector sum[kCount][kParts] = {};
  for (int i = 0; i < stride; i += kStep) {
    for (int p = 0; p < kParts; ++p) {
      const Vector xv = load(x + i + p * kVector);
      for (int r = 0; r < kCount; ++r) sum[r][p] += load(w + r * stride + i + p * kVector) * xv;
    }
  }
  for (int r = 0; r < kCount; ++r) {
    Vector total = sum[r][0];
    for (int p = 1; p < kParts; ++p) total += sum[r][p];
    y[r] = sum_lanes(total);
  }
}

// y += sum of d[o] * w[o] over kCount rows o
template <int kCount>
inline void add_rows(const float* w, int stride, const int* rows, const float* d, float* y) {
  const float* row[kCount];
  Vector scale[kCount];
  for (int r = 0; r < kCount; ++r) {
    row[r] = w + static_cast<std::size_t>(rows[r]) * stride;
    scale[r] = splat(d[rows[r]]);
  }
  for (int i = 0; i < stride; i += kVector) {
    Vector sum = load(y + i);
    for (int r = 0; r < kCount; ++r) sum += load(row[r] + i) * scale[r];
    store(y + i, sum);
  }
}

}  // namespace

SinglePass::SinglePass(const MlpShape& shape) : shape_(shape) {
  for (int l = 0; l < shape.layers(); ++l) activations_.emplace_back(shape.layer(l).stride);
  activations_.emplace_back(round_up(shape.outputs(), kStep));
  const int widest = round_up(shape.widest(), kStep);
  delta_.resize(widest);
  next_delta_.resize(widest);
  active_.resize(widest);
}

std::span<const float> SinglePass::forward(std::span<const float> parameters) {
  for (int l = 0; l < shape_.layers(); ++l) {
    const auto& layer = shape_.layer(l);
    const float* w = parameters.data() + layer.weights;
    const float* x = activations_[l].data();
    float* y = activations_[l + 1].data();
    int o = 0;
    for (; o + 4 <= layer.outputs; o += 4)
      dot_rows<4>(w + o * layer.stride, layer.stride, x, y + o);
    for (; o < layer.outputs; ++o) dot_rows<1>(w + o * layer.stride, layer.stride, x, y + o);

    const float* bias = parameters.data() + layer.bias;
    const bool hidden = l + 1 < shape_.layers();
    for (o = 0; o < layer.outputs; ++o) {
      const float value = y[o] + bias[o];
      y[o] = hidden && value < 0 ? 0 : value;
    }
  }
  return {activations_.back().data(), static_cast<std::size_t>(shape_.outputs())};
}

void SinglePass::backward(std::span<const float> parameters, std::span<const float> output_gradient,
                          int first, std::span<float> input_gradient) {
  std::ranges::copy(output_gradient, delta_.begin());
  for (int l = shape_.layers() - 1; l >= 0; --l) {
    const auto& layer = shape_.layer(l);
    const float* w = parameters.data() + layer.weights;

    // the outputs that have a gradient at all
    const bool hidden = l + 1 < shape_.layers();
    int count = 0;
    for (int o = 0; o < layer.outputs; ++o) {
      active_[count] = o;
      count += !hidden || activations_[l + 1][o] > 0;
    }

    if (l == 0) {
      std::ranges::fill(input_gradient, 0.0f);
      for (int a = 0; a < count; ++a) {
        const float* row = w + static_cast<std::size_t>(active_[a]) * layer.stride + first;
        const float d = delta_[active_[a]];
        for (std::size_t i = 0; i < input_gradient.size(); ++i) input_gradient[i] += d * row[i];
      }
      return;
    }

    std::fill_n(next_delta_.begin(), layer.stride, 0.0f);
    int a = 0;
    for (; a + 4 <= count; a += 4)
      add_rows<4>(w, layer.stride, &active_[a], delta_.data(), next_delta_.data());
    for (; a < count; ++a)
      add_rows<1>(w, layer.stride, &active_[a], delta_.data(), next_delta_.data());
    delta_.swap(next_delta_);
  }
}

}  // namespace ovde
