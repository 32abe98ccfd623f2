#include "nn/iqn_shape.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <ovde/random.h>

namespace ovde {

IqnShape::IqnShape(int inputs, const std::vector<int>& hidden) {
  assert(hidden.size() >= 2);
  // placed as an Mlp of one layer would be, behind one another, with gain and shift after each
  const auto add = [&](int from, int to) {
    Layer layer{MlpShape(from, {}, to).layer(0), 0, 0};
    const std::size_t end = MlpShape(from, {}, to).size(), width = end - layer.bias;
    layer.weights += size_;
    layer.bias += size_;
    layer.gain = size_ + end;
    layer.shift = layer.gain + width;
    size_ = layer.shift + width;
    layers_.push_back(layer);
  };
  int width = inputs;
  for (std::size_t l = 0; l + 1 < hidden.size(); ++l) {
    add(width, hidden[l]);
    width = hidden[l];
  }
  add(kCosines, width);
  add(width, hidden.back());
  add(hidden.back(), 1);
  size_ = layers_.back().gain;  // the output is not normalised
}

double IqnShape::products(int fractions) const {
  double sum = 0;
  for (const Layer& layer : layers_) {
    const bool once = &layer - layers_.data() < feature_layers();
    sum += (once ? 1.0 : fractions) * layer.inputs * layer.outputs;
  }
  return sum;
}

double IqnShape::products_back(int fractions) const {
  double sum = double(fractions) * merge().inputs * merge().outputs;
  for (int l = 1; l < feature_layers(); ++l) sum += double(layers_[l].inputs) * layers_[l].outputs;
  return sum;
}

void initialise(const IqnShape& shape, std::uint64_t seed, std::uint32_t network,
                std::span<float> parameters) {
  std::ranges::fill(parameters, 0.0f);
  Random random(seed, Stream::initial_parameters, network);
  for (const IqnShape::Layer& layer : shape.layers()) {
    const double limit = 1 / std::sqrt(static_cast<double>(layer.inputs));
    const auto draw = [&] { return static_cast<float>(random.uniform(-limit, limit)); };
    for (int o = 0; o < layer.outputs; ++o) {
      float* row = parameters.data() + layer.weights + static_cast<std::size_t>(o) * layer.stride;
      std::generate_n(row, layer.inputs, draw);
      parameters[layer.bias + o] = draw();
    }
    if (&layer != &shape.output())
      std::fill_n(parameters.begin() + layer.gain, layer.outputs, 1.0f);
  }
}

}  // namespace ovde
