#include "nn/single.h"

#include <algorithm>
#include <cstring>

namespace ovde {

namespace {

constexpr int kTile = 32;  // outputs worked on at a time: as many as fit into registers twice over
constexpr int kParts = kTile / kVector;

inline Quad fold(Vector v) {
  Quad quads[kVector / 4];
  std::memcpy(quads, &v, sizeof(v));
  Quad sum = quads[0];
  for (int i = 1; i < kVector / 4; ++i) sum += quads[i];
  return sum;
}

// The sums of the lanes of four quads.
inline Quad sums(Quad a, Quad b, Quad c, Quad d) {
  typedef int Index __attribute__((vector_size(16)));
  const Quad ab =
      __builtin_shuffle(a, b, Index{0, 2, 4, 6}) + __builtin_shuffle(a, b, Index{1, 3, 5, 7});
  const Quad cd =
      __builtin_shuffle(c, d, Index{0, 2, 4, 6}) + __builtin_shuffle(c, d, Index{1, 3, 5, 7});
  return __builtin_shuffle(ab, cd, Index{0, 2, 4, 6}) +
         __builtin_shuffle(ab, cd, Index{1, 3, 5, 7});
}

// The sums of the lanes of `count` vectors that lie one after the other; reads up to a multiple of
// four.
inline void sum_vectors(const float* vectors, int count, float* sums_out) {
  for (int i = 0; i < count; i += 4) {
    Quad folded[4];
    for (int r = 0; r < 4; ++r) folded[r] = fold(load(vectors + (i + r) * kVector));
    *reinterpret_cast<Quad*>(sums_out + i) = sums(folded[0], folded[1], folded[2], folded[3]);
  }
}

}  // namespace

SinglePass::SinglePass(const MlpShape& shape) : shape_(shape) {
  for (int l = 0; l < shape.layers(); ++l) {
    const auto& from = shape.layer(l);
    Layer layer{from.inputs, from.outputs, (from.outputs + kTile - 1) / kTile, {}, {}, {}};
    layer.weights = Buffer(static_cast<std::size_t>(layer.tiles) * layer.inputs * kTile);
    layer.bias = Buffer(layer.tiles * kTile);
    layer.input = Buffer(round_up(layer.inputs, kTile));
    layers_.push_back(std::move(layer));
  }
  const int widest = round_up(shape.widest(), kTile);
  output_ = Buffer(round_up(shape.outputs(), kTile));
  delta_ = Buffer(widest);
  partial_ = Buffer(static_cast<std::size_t>(widest) * kVector);
}

void SinglePass::load(std::span<const float> parameters) {
  for (int l = 0; l < shape_.layers(); ++l) {
    const auto& from = shape_.layer(l);
    Layer& layer = layers_[l];
    for (int o = 0; o < layer.outputs; ++o) {
      const float* row =
          parameters.data() + from.weights + static_cast<std::size_t>(o) * from.stride;
      float* out = layer.weights.data() +
                   static_cast<std::size_t>(o / kTile) * layer.inputs * kTile + o % kTile;
      for (int i = 0; i < layer.inputs; ++i) out[i * kTile] = row[i];
    }
    std::copy_n(parameters.data() + from.bias, layer.outputs, layer.bias.data());
  }
}

std::span<const float> SinglePass::forward() {
  for (std::size_t l = 0; l < layers_.size(); ++l) {
    const Layer& layer = layers_[l];
    const bool hidden = l + 1 < layers_.size();
    float* y = hidden ? layers_[l + 1].input.data() : output_.data();
    const float *w = layer.weights.data(), *x = layer.input.data();
    for (int t = 0; t < layer.tiles; ++t) {
      Vector sum[kParts];
      for (int p = 0; p < kParts; ++p)
        sum[p] = ovde::load(layer.bias.data() + t * kTile + p * kVector);
      for (int i = 0; i < layer.inputs; ++i, w += kTile) {
        for (int p = 0; p < kParts; ++p) sum[p] += ovde::load(w + p * kVector) * x[i];
      }
      for (int p = 0; p < kParts; ++p) {
        const Vector value = hidden ? (sum[p] < 0 ? Vector{} : sum[p]) : sum[p];
        store(y + t * kTile + p * kVector, value);
      }
    }
  }
  return {output_.data(), static_cast<std::size_t>(outputs())};
}

void SinglePass::backward(std::span<const float> output_gradient, int first,
                          std::span<float> input_gradient) {
  std::ranges::fill(delta_, 0.0f);
  std::ranges::copy(output_gradient, delta_.begin());
  for (std::size_t l = layers_.size(); l-- > 0;) {
    // of the bottom layer only the chosen inputs are asked for
    const Layer& layer = layers_[l];
    const int from = l == 0 ? first : 0;
    const int count = l == 0 ? static_cast<int>(input_gradient.size()) : layer.inputs;

    // gradient of input i = sum over outputs of weight * delta
    for (int t = 0; t < layer.tiles; ++t) {
      Vector d[kParts];
      for (int p = 0; p < kParts; ++p) d[p] = ovde::load(delta_.data() + t * kTile + p * kVector);
      const float* w =
          layer.weights.data() + (static_cast<std::size_t>(t) * layer.inputs + from) * kTile;
      for (int i = 0; i < count; ++i, w += kTile) {
        Vector even = t == 0 ? Vector{} : ovde::load(partial_.data() + i * kVector), odd{};
        for (int p = 0; p < kParts; p += 2) {
          even += ovde::load(w + p * kVector) * d[p];
          odd += ovde::load(w + (p + 1) * kVector) * d[p + 1];
        }
        store(partial_.data() + i * kVector, even + odd);
      }
    }
    sum_vectors(partial_.data(), count, delta_.data());

    if (l == 0) {
      std::copy_n(delta_.data(), count, input_gradient.data());
    } else {
      for (int i = 0; i < round_up(count, kTile); ++i)
        delta_[i] = layer.input[i] > 0 ? delta_[i] : 0;
    }
  }
}

}  // namespace ovde
