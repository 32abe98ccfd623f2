#include "nn/mlp.h"

#include <algorithm>
#include <cmath>

#include "nn/norm.h"

namespace ovde {

namespace {
// fixed, so that the layout of a parameter buffer is the same on every machine
constexpr int kAlign = 16;
}  // namespace

MlpShape::MlpShape(int inputs, const std::vector<int>& hidden, int outputs, bool norm)
    : norm_(norm) {
  std::vector<int> sizes = {inputs};
  sizes.insert(sizes.end(), hidden.begin(), hidden.end());
  sizes.push_back(outputs);
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    Layer layer{sizes[i], sizes[i + 1], round_up(sizes[i], kAlign), size_, 0, 0, 0};
    const std::size_t width = round_up(layer.outputs, kAlign);
    layer.bias = layer.weights + static_cast<std::size_t>(layer.outputs) * layer.stride;
    layer.gain = layer.bias + width;
    layer.shift = layer.gain + width;
    const bool hidden = i + 2 < sizes.size();
    size_ = norm && hidden ? layer.shift + width : layer.gain;
    layers_.push_back(layer);
  }
}

MlpShape MlpShape::residual(int inputs, int width, int blocks, int expansion, int outputs) {
  std::vector<int> hidden = {width};
  for (int b = 0; b < blocks; ++b) hidden.insert(hidden.end(), {expansion * width, width});
  MlpShape shape(inputs, hidden, outputs);
  shape.residual_ = true;
  return shape;
}

MlpShape MlpShape::with_outputs(int outputs) const {
  std::vector<int> hidden;
  for (int l = 0; l + 1 < layers(); ++l) hidden.push_back(layer(l).outputs);
  MlpShape shape(inputs(), hidden, outputs, norm_);
  shape.residual_ = residual_;
  return shape;
}

int MlpShape::widest() const {
  int widest = inputs();
  for (const Layer& layer : layers_) widest = std::max(widest, layer.outputs);
  return widest;
}

double MlpShape::products(int first_layer) const {
  double sum = 0;
  for (int l = first_layer; l < layers(); ++l) sum += double(layer(l).inputs) * layer(l).outputs;
  return sum;
}

void initialise_layer(const MlpShape::Layer& layer, Initialisation how, bool output, float last,
                      Random& random, std::span<float> parameters) {
  double limit = 0;
  bool draws_biases = true;
  switch (how) {
    case Initialisation::base:
      limit = output ? last : 1 / std::sqrt(256.0);
      draws_biases = output;
      break;
    case Initialisation::torch:
      limit = 1 / std::sqrt(static_cast<double>(layer.inputs));
      break;
  }
  const auto draw = [&] { return static_cast<float>(random.uniform(-limit, limit)); };
  for (int o = 0; o < layer.outputs; ++o) {
    float* row = parameters.data() + layer.weights + static_cast<std::size_t>(o) * layer.stride;
    std::generate_n(row, layer.inputs, draw);
    parameters[layer.bias + o] = draws_biases ? draw() : 0.1f;
  }
}

void initialise(const MlpShape& shape, std::uint64_t seed, std::uint32_t network, float last,
                std::span<float> parameters, Initialisation how) {
  std::ranges::fill(parameters, 0.0f);
  Random random(seed, Stream::initial_parameters, network);
  for (int l = 0; l < shape.layers(); ++l) {
    const auto& layer = shape.layer(l);
    const bool output = l == shape.layers() - 1;
    initialise_layer(layer, how, output, last, random, parameters);
    if (shape.norm() && !output) std::fill_n(parameters.begin() + layer.gain, layer.outputs, 1.0f);
  }
}

Activations::Activations(const MlpShape& shape, int samples) {
  for (int l = 0; l < shape.layers(); ++l) {
    layer.emplace_back(shape.layer(l).outputs, samples);
    if (!shape.norm() || l == shape.layers() - 1) continue;
    normal.emplace_back(shape.layer(l).outputs, samples);
    scale.emplace_back(1, samples);
  }
  if (!shape.is_residual()) return;
  const int width = shape.layer(0).outputs;
  for (int b = 0; b < shape.blocks(); ++b) added.emplace_back(width, samples);
  last_input = Batch(width, samples);
  last_scale = Batch(1, samples);
}

Deltas::Deltas(const MlpShape& shape, int samples) {
  for (int l = 0; l < shape.layers(); ++l) layer.emplace_back(shape.layer(l).outputs, samples);
  if (shape.is_residual()) added = Batch(shape.layer(0).outputs, samples);
}

Mlp::Mlp(const MlpShape& shape, Use use, int first_input, int inputs) : shape_(shape) {
  for (int l = 0; l < shape.layers(); ++l) {
    const auto& layer = shape.layer(l);
    const int chosen = use == Use::forward ? 0 : l == 0 ? inputs : layer.inputs;
    panels_.emplace_back(layer.outputs, layer.inputs, chosen, l == 0 ? first_input : 0);
    if (!shape.norm() || l == shape.layers() - 1) continue;
    gain_.emplace_back(layer.outputs);
    shift_.emplace_back(layer.outputs);
  }
}

void Mlp::pack(std::span<const float> parameters) {
  for (int l = 0; l < shape_.layers(); ++l) {
    const auto& layer = shape_.layer(l);
    panels_[l].pack(parameters.data() + layer.weights, layer.stride);
    if (l < static_cast<int>(gain_.size())) {
      std::copy_n(parameters.begin() + layer.gain, layer.outputs, gain_[l].begin());
      std::copy_n(parameters.begin() + layer.shift, layer.outputs, shift_[l].begin());
    }
  }
}

void Mlp::forward(std::span<const float> parameters, const Batch& input, Activations& activations,
                  Blocks blocks) const {
  if (shape_.is_residual()) return forward_residual(parameters, input, activations, blocks);
  for (int l = 0; l < shape_.layers(); ++l) {
    const bool output = l == shape_.layers() - 1, norm = shape_.norm() && !output;
    product_forward(panels_[l].forward, parameters.data() + shape_.layer(l).bias,
                    output || norm ? Activation::none : Activation::relu,
                    l == 0 ? input : activations.layer[l - 1],
                    norm ? activations.normal[l] : activations.layer[l], blocks);
    if (norm) normalise(l, activations, blocks);
  }
}

void Mlp::normalise(int l, Activations& activations, Blocks blocks) const {
  const int units = shape_.layer(l).outputs;
  for (int b = blocks.first; b < blocks.last; ++b) {
    float *n = activations.normal[l].block(b), *y = activations.layer[l].block(b);
    const ColumnMoments moments(n, units);
    for (int v = 0; v < kVectorsPerBlock; ++v)
      store(activations.scale[l].row(b, 0) + v * kVector, moments.scale[v]);
    ovde::normalise(n, units, moments, [&](int f, int, int at, Vector x) {
      store(y + at, relu(x * gain_[l][f] + shift_[l][f]));
    });
  }
}

// Turns the gradient of a hidden layer's output, masked by its ReLU, into that of its linear
// output, in place, and writes the gradients of gain and shift to `gradient` unless it is null.
void Mlp::back_through_norm(int l, const Activations& activations, Deltas& deltas, Blocks blocks,
                            float* gradient) const {
  if (!shape_.norm()) return;
  const auto& layer = shape_.layer(l);
  const int units = layer.outputs;
  for (int f = 0; gradient != nullptr && f < units; ++f) {
    Vector by_gain{}, by_shift{};
    over_samples(blocks, [&](int b, int v) {
      const Vector d = load(deltas.layer[l].row(b, f) + v);
      by_gain += d * load(activations.normal[l].row(b, f) + v);
      by_shift += d;
    });
    gradient[layer.gain + f] = sum_lanes(by_gain);
    gradient[layer.shift + f] = sum_lanes(by_shift);
  }
  for (int b = blocks.first; b < blocks.last; ++b) {
    const float* n = activations.normal[l].block(b);
    float* d = deltas.layer[l].block(b);
    Lanes scale;
    for (int v = 0; v < kVectorsPerBlock; ++v)
      scale[v] = load(activations.scale[l].row(b, 0) + v * kVector);
    NormGradient norm;
    for_each_vector(units, [&](int f, int v, int at) {
      norm.add(v, load(d + at) * gain_[l][f], load(n + at));
    });
    norm.finish(units, scale);
    norm.apply(units, gain_[l].data(), n, d);
  }
}

void Mlp::backward(const Batch& input, const Activations& activations, Deltas& deltas,
                   Blocks blocks, std::span<float> gradient, GradientScratch& scratch) const {
  for (int l = shape_.layers() - 1; l >= 0; --l) {
    const auto& layer = shape_.layer(l);
    weight_gradient<false>(deltas.layer[l], l == 0 ? input : activations.layer[l - 1], blocks,
                           gradient.data() + layer.weights, layer.stride,
                           gradient.data() + layer.bias, scratch);
    if (l > 0) {
      product_backward(panels_[l].backward, deltas.layer[l], &activations.layer[l - 1],
                       deltas.layer[l - 1], blocks);
      back_through_norm(l - 1, activations, deltas, blocks, gradient.data());
    }
  }
}

void Mlp::backward_to_input(const Activations& activations, Deltas& deltas, int from,
                            Batch& input_gradient, Blocks blocks) const {
  if (shape_.is_residual()) return residual_to_input(activations, deltas, input_gradient, blocks);
  if (from < shape_.layers() - 1) back_through_norm(from, activations, deltas, blocks, nullptr);
  for (int l = from; l > 0; --l) {
    product_backward(panels_[l].backward, deltas.layer[l], &activations.layer[l - 1],
                     deltas.layer[l - 1], blocks);
    back_through_norm(l - 1, activations, deltas, blocks, nullptr);
  }
  product_backward(panels_[0].backward, deltas.layer[0], nullptr, input_gradient, blocks);
}

// ---- residual networks

void Mlp::forward_residual(std::span<const float> parameters, const Batch& input,
                           Activations& activations, Blocks blocks) const {
  auto& [layer, normal, scale, added, last_input, last_scale] = activations;
  const int last = shape_.layers() - 1;
  const auto run = [&](int l, Activation activation, const Batch& x, Batch& y) {
    product_forward(panels_[l].forward, parameters.data() + shape_.layer(l).bias, activation, x, y,
                    blocks);
  };
  run(0, Activation::none, input, layer[0]);
  for (int l = 2; l < last; l += 2) {
    run(l - 1, Activation::relu, layer[l - 2], layer[l - 1]);
    run(l, Activation::relu, layer[l - 1], added[l / 2 - 1]);
    add(layer[l - 2], added[l / 2 - 1], layer[l], blocks);
  }
  rms_norm(layer[last - 1], last_input, last_scale, blocks);
  run(last, Activation::none, last_input, layer[last]);
}

void Mlp::residual_to_input(const Activations& activations, Deltas& deltas, Batch& input_gradient,
                            Blocks blocks) const {
  const int last = shape_.layers() - 1;
  std::vector<Batch>& d = deltas.layer;
  product_backward(panels_[last].backward, d[last], nullptr, d[last - 1], blocks);
  back_through_rms_norm(activations.last_input, activations.last_scale, d[last - 1], blocks);
  for (int l = last - 1; l > 0; l -= 2) {
    mask(d[l], activations.added[l / 2 - 1], deltas.added, blocks);
    product_backward(panels_[l].backward, deltas.added, &activations.layer[l - 1], d[l - 1],
                     blocks);
    product_backward(panels_[l - 1].backward, d[l - 1], nullptr, d[l - 2], blocks);
    add(d[l - 2], d[l], d[l - 2], blocks);
  }
  product_backward(panels_[0].backward, d[0], nullptr, input_gradient, blocks);
}

}  // namespace ovde
