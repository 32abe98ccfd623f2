#include "nn/iqn.h"

#include <algorithm>
#include <cassert>

#include <ovde/random.h>

namespace ovde {

// ---- shape

IqnShape::IqnShape(int inputs, const std::vector<int>& hidden, bool norm) : norm_(norm) {
  assert(hidden.size() >= 2);
  // each layer is placed like an Mlp of one layer, followed by gain and shift
  const auto add = [&](int from, int to) {
    Layer layer = MlpShape(from, {}, to).layer(0);
    for (std::size_t* offset : {&layer.weights, &layer.bias, &layer.gain, &layer.shift})
      *offset += size_;
    size_ = layer.shift + (layer.shift - layer.gain);
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
                std::span<float> parameters, Initialisation how, float last) {
  std::ranges::fill(parameters, 0.0f);
  Random random(seed, Stream::initial_parameters, network);
  for (const IqnShape::Layer& layer : shape.layers()) {
    const bool output = &layer == &shape.output();
    initialise_layer(layer, how, output, last, random, parameters);
    if (!output) std::fill_n(parameters.begin() + layer.gain, layer.outputs, 1.0f);
  }
}

// ---- passes

namespace {

// The embedding cos(pi j tau) of one fraction for every sample of a block.
void embed(const float* fractions, float* cosines) {
  for_each_vector(kCosines, [&](int j, int v, int at) {
    store(cosines + at, cosine_pi(static_cast<float>(j + 1) * load(fractions + v * kVector)));
  });
}

void clear(Batch& batch) {
  std::fill_n(batch.block(0), static_cast<std::size_t>(batch.features()) * kLanes, 0.0f);
}

float sum_row(const float* row) {
  Vector sum{};
  for (int v = 0; v < kLanes; v += kVector) sum += load(row + v);
  return sum_lanes(sum);
}

}  // namespace

IqnActivations::IqnActivations(const IqnShape& shape, int fractions, Mlp::Use use)
    : input(shape.inputs(), kLanes), places(use == Mlp::Use::forward ? 1 : fractions) {
  for (int l = 0; l < shape.feature_layers(); ++l) {
    const int width = shape.features(l).outputs;
    features.push_back({Batch(width, kLanes), Batch(width, kLanes), {}});
  }
  const int columns = places * kLanes;
  cosines = Batch(kCosines, columns);
  gate_normal = gate = gated = Batch(shape.gate().outputs, columns);
  merged_normal = Batch(shape.merge().outputs, columns);
  gate_scale.resize(places);
  merged_scale.resize(places);
}

IqnDeltas::IqnDeltas(const IqnShape& shape, int fractions)
    : input(shape.inputs(), kLanes),
      gated(shape.gate().outputs, fractions * kLanes),
      merged(shape.merge().outputs, fractions * kLanes),
      gate_gain(shape.gate().outputs, kLanes),
      gate_shift(gate_gain),
      merged_gain(shape.merge().outputs, kLanes),
      merged_shift(merged_gain) {
  int widest = shape.inputs();
  for (const IqnShape::Layer& layer : shape.layers())
    widest = std::max({widest, layer.inputs, layer.outputs});
  scratch = GradientScratch(widest, fractions * kLanes);
  for (int l = 0; l < shape.feature_layers(); ++l)
    features.emplace_back(shape.features(l).outputs, kLanes);
}

Iqn::Iqn(const IqnShape& shape, Mlp::Use use, int first_input, int inputs) : shape_(shape) {
  for (int l = 0; l <= shape.feature_layers() + 1; ++l) {
    const auto& layer = shape.layers()[l];
    const bool back = use == Mlp::Use::forward_and_backward && l != shape.feature_layers();
    const int chosen = l == 0 ? inputs : layer.inputs;
    panels_.emplace_back(layer.outputs, layer.inputs, back ? chosen : 0, l == 0 ? first_input : 0);
  }
}

void Iqn::pack(std::span<const float> parameters) {
  for (std::size_t l = 0; l < panels_.size(); ++l) {
    const auto& layer = shape_.layers()[l];
    panels_[l].pack(parameters.data() + layer.weights, layer.stride);
  }
}

void Iqn::forward(std::span<const float> parameters, const Batch& input, const Batch& fractions,
                  int block, IqnActivations& a, Batch& values) const {
  std::copy_n(input.block(block), shape_.inputs() * kLanes, a.input.block(0));
  compute_features(parameters.data(), a);
  for (int i = 0; i < fractions.features(); ++i) {
    const int place = i % a.places;
    embed(fractions.row(block, i), a.cosines.block(place));
    compute_gate(parameters.data(), place, a);
    compute_value(parameters.data(), place, a, values.row(block, i));
  }
}

void Iqn::compute_features(const float* parameters, IqnActivations& a) const {
  for (int l = 0; l < shape_.feature_layers(); ++l) {
    const auto& layer = shape_.features(l);
    auto& [normal, output, scale] = a.features[l];
    product_forward(panels_[l].forward, parameters + layer.bias, Activation::none,
                    l == 0 ? a.input : a.features[l - 1].output, normal, {0, 1});
    const ColumnMoments moments = this->moments(normal.block(0), layer);
    scale = moments.scale;
    normalise(normal.block(0), layer.outputs, moments,
              [&, y = output.block(0)](int f, int, int at, Vector x) {
                store(y + at, relu(x * parameters[layer.gain + f] + parameters[layer.shift + f]));
              });
  }
}

void Iqn::compute_gate(const float* parameters, int place, IqnActivations& a) const {
  const auto& layer = shape_.gate();
  product_forward(panels_[shape_.feature_layers()].forward, parameters + layer.bias,
                  Activation::none, a.cosines, a.gate_normal, {place, place + 1});
  float *n = a.gate_normal.block(place), *gate = a.gate.block(place), *gated = a.gated.block(place);
  const float *features = a.features.back().output.block(0), *gain = parameters + layer.gain,
              *shift = parameters + layer.shift;
  const ColumnMoments moments = this->moments(n, layer);
  a.gate_scale[place] = moments.scale;
  normalise(n, layer.outputs, moments, [&](int f, int, int at, Vector x) {
    const Vector g = sigmoid(x * gain[f] + shift[f]);
    store(gate + at, g);
    store(gated + at, g * load(features + at));
  });
}

void Iqn::compute_value(const float* parameters, int place, IqnActivations& a, float* value) const {
  const auto& layer = shape_.merge();
  product_forward(panels_.back().forward, parameters + layer.bias, Activation::none, a.gated,
                  a.merged_normal, {place, place + 1});
  float* n = a.merged_normal.block(place);
  const float *gain = parameters + layer.gain, *shift = parameters + layer.shift,
              *weights = parameters + shape_.output().weights;
  const ColumnMoments moments = this->moments(n, layer);
  a.merged_scale[place] = moments.scale;
  Lanes sum;
  for (Vector& z : sum.part) z = splat(parameters[shape_.output().bias]);
  normalise(n, layer.outputs, moments, [&](int f, int v, int, Vector x) {
    sum[v] += weights[f] * relu(x * gain[f] + shift[f]);
  });
  for (int v = 0; v < kVectorsPerBlock; ++v) store(value + v * kVector, sum[v]);
}

// Computes the gradients of the linear outputs of the merging layer (deltas.merged) and the gating
// layer (deltas.gated), and that of the features (deltas.features).
template <bool kParameters>
void Iqn::back_to_features(const float* parameters, const Batch& value_gradient, int block,
                           const IqnActivations& a, IqnDeltas& deltas) const {
  clear(deltas.features.back());
  if (kParameters) {
    for (Batch* sums :
         {&deltas.gate_gain, &deltas.gate_shift, &deltas.merged_gain, &deltas.merged_shift})
      clear(*sums);
  }
  for (int i = 0; i < value_gradient.features(); ++i) {
    back_through_merge<kParameters>(parameters, value_gradient.row(block, i), i, a, deltas);
    product_backward(panels_.back().backward, deltas.merged, nullptr, deltas.gated, {i, i + 1});
    back_through_gate<kParameters>(parameters, i, a, deltas);
  }
}

// The gradient of the value passes through every active merged unit, times its weight. The
// gradients of the parameters need two sums for each unit: of the value's gradient, and of it times
// the normalised unit.
template <bool kParameters>
void Iqn::back_through_merge(const float* parameters, const float* value_gradient, int place,
                             const IqnActivations& a, IqnDeltas& deltas) const {
  const auto& layer = shape_.merge();
  const float *n = a.merged_normal.block(place), *gain = parameters + layer.gain,
              *shift = parameters + layer.shift, *weights = parameters + shape_.output().weights;
  float* dx = deltas.merged.block(place);
  const auto passed = [&](int f, int v, Vector x) {
    return x * gain[f] + shift[f] > 0 ? load(value_gradient + v * kVector) : Vector{};
  };
  NormGradient norm;
  for_each_vector(layer.outputs, [&](int f, int v, int at) {
    const Vector x = load(n + at), d = passed(f, v, x);
    norm.add(v, d * (weights[f] * gain[f]), x);
    if (kParameters) {
      float *by_gain = deltas.merged_gain.block(0) + at,
            *by_shift = deltas.merged_shift.block(0) + at;
      store(by_gain, load(by_gain) + d * x);
      store(by_shift, load(by_shift) + d);
    }
  });
  norm.finish(layer.outputs, a.merged_scale[place], shape_.norm());
  for_each_vector(layer.outputs, [&](int f, int v, int at) {
    const Vector x = load(n + at);
    store(dx + at, norm.dx(v, passed(f, v, x) * (weights[f] * gain[f]), x));
  });
}

// Splits the gradient of features * gate between the two.
template <bool kParameters>
void Iqn::back_through_gate(const float* parameters, int place, const IqnActivations& a,
                            IqnDeltas& deltas) const {
  const auto& layer = shape_.gate();
  const float *n = a.gate_normal.block(place), *gate = a.gate.block(place),
              *features = a.features.back().output.block(0), *gain = parameters + layer.gain;
  float *d = deltas.gated.block(place), *by_features = deltas.features.back().block(0);
  if (!kParameters) {
    for_each_vector(layer.outputs, [&](int, int, int at) {
      store(by_features + at, load(by_features + at) + load(d + at) * load(gate + at));
    });
    return;
  }
  NormGradient norm;
  for_each_vector(layer.outputs, [&](int f, int v, int at) {
    const Vector g = load(gate + at), x = load(n + at), dg = load(d + at) * g;
    store(by_features + at, load(by_features + at) + dg);
    const Vector before_sigmoid = dg * load(features + at) * (1.0f - g);
    store(d + at, before_sigmoid);
    norm.add(v, before_sigmoid * gain[f], x);
    float *by_gain = deltas.gate_gain.block(0) + at, *by_shift = deltas.gate_shift.block(0) + at;
    store(by_gain, load(by_gain) + before_sigmoid * x);
    store(by_shift, load(by_shift) + before_sigmoid);
  });
  norm.finish(layer.outputs, a.gate_scale[place], shape_.norm());
  norm.apply(layer.outputs, gain, n, d);
}

// Turns the gradient of a feature layer's output into that of its linear output, in place, and adds
// the gradients of gain and shift to `gradient` unless it is null.
void Iqn::back_through_feature_layer(const float* parameters, int l, const IqnActivations& a,
                                     IqnDeltas& deltas, float* gradient) const {
  const auto& layer = shape_.features(l);
  const float *n = a.features[l].normal.block(0), *output = a.features[l].output.block(0),
              *gain = parameters + layer.gain;
  float* d = deltas.features[l].block(0);
  NormGradient norm;
  for_each_vector(layer.outputs, [&](int f, int v, int at) {
    const Vector masked = load(output + at) > 0 ? load(d + at) : Vector{};
    store(d + at, masked);
    norm.add(v, masked * gain[f], load(n + at));
  });
  if (gradient) {
    for (int f = 0; f < layer.outputs; ++f) {
      Vector by_gain{};
      for (int at = f * kLanes; at < (f + 1) * kLanes; at += kVector)
        by_gain += load(d + at) * load(n + at);
      gradient[layer.gain + f] += sum_lanes(by_gain);
      gradient[layer.shift + f] += sum_row(d + f * kLanes);
    }
  }
  norm.finish(layer.outputs, a.features[l].scale, shape_.norm());
  norm.apply(layer.outputs, gain, n, d);
}

// Adds the gradients of the output layer, and of gains and shifts of the merging and gating layers.
// A merged unit is relu(normal * gain + shift), and its gradient that of the value times the output
// weight, so the two sums of a unit give the gradients of all three.
void Iqn::add_sums(std::span<const float> parameters, const Batch& value_gradient, int block,
                   const IqnDeltas& deltas, std::span<float> gradient) const {
  const auto &output = shape_.output(), &merge = shape_.merge(), &gate = shape_.gate();
  for (int i = 0; i < value_gradient.features(); ++i)
    gradient[output.bias] += sum_row(value_gradient.row(block, i));
  for (int f = 0; f < merge.outputs; ++f) {
    const float by_gain = sum_row(deltas.merged_gain.row(0, f));
    const float by_shift = sum_row(deltas.merged_shift.row(0, f));
    const float weight = parameters[output.weights + f];
    gradient[output.weights + f] +=
        parameters[merge.gain + f] * by_gain + parameters[merge.shift + f] * by_shift;
    gradient[merge.gain + f] += weight * by_gain;
    gradient[merge.shift + f] += weight * by_shift;
  }
  for (int f = 0; f < gate.outputs; ++f) {
    gradient[gate.gain + f] += sum_row(deltas.gate_gain.row(0, f));
    gradient[gate.shift + f] += sum_row(deltas.gate_shift.row(0, f));
  }
}

void Iqn::backward(std::span<const float> parameters, const Batch& value_gradient, int block,
                   const IqnActivations& a, IqnDeltas& deltas, std::span<float> gradient) const {
  const auto add_weights = [&](const IqnShape::Layer& layer, const Batch& delta, const Batch& x,
                               int blocks) {
    weight_gradient<true>(delta, x, {0, blocks}, gradient.data() + layer.weights, layer.stride,
                          gradient.data() + layer.bias, deltas.scratch);
  };
  back_to_features<true>(parameters.data(), value_gradient, block, a, deltas);
  add_sums(parameters, value_gradient, block, deltas, gradient);
  add_weights(shape_.merge(), deltas.merged, a.gated, value_gradient.features());
  add_weights(shape_.gate(), deltas.gated, a.cosines, value_gradient.features());
  for (int l = shape_.feature_layers() - 1; l >= 0; --l) {
    back_through_feature_layer(parameters.data(), l, a, deltas, gradient.data());
    add_weights(shape_.features(l), deltas.features[l], l == 0 ? a.input : a.features[l - 1].output,
                1);
    if (l > 0)
      product_backward(panels_[l].backward, deltas.features[l], nullptr, deltas.features[l - 1],
                       {0, 1});
  }
}

void Iqn::backward_to_input(std::span<const float> parameters, const Batch& value_gradient,
                            int block, const IqnActivations& a, IqnDeltas& deltas,
                            Batch& input_gradient) const {
  back_to_features<false>(parameters.data(), value_gradient, block, a, deltas);
  for (int l = shape_.feature_layers() - 1; l >= 0; --l) {
    back_through_feature_layer(parameters.data(), l, a, deltas, nullptr);
    product_backward(panels_[l].backward, deltas.features[l], nullptr,
                     l == 0 ? deltas.input : deltas.features[l - 1], {0, 1});
  }
  std::copy_n(deltas.input.block(0), input_gradient.features() * kLanes,
              input_gradient.block(block));
}

}  // namespace ovde
