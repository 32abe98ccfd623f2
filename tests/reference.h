// Independent double-precision implementations that tests compare with: one sample at a time, plain
// loops, gradients by central differences. Shares only the layout of the parameter buffer with the
// implementation.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "nn/mlp.h"

namespace ovde::reference {

using Vec = std::vector<double>;

inline Vec to_double(std::span<const float> x) { return {x.begin(), x.end()}; }

// The weighted sums of a layer. Eight of them are summed side by side, since each addition waits
// for the one before.
inline Vec weighted_sums(const MlpShape::Layer& layer, const Vec& parameters, const Vec& x) {
  constexpr int kBeside = 8;
  Vec y;
  for (int first = 0; first < layer.outputs; first += kBeside) {
    const double* row[kBeside];
    double sum[kBeside];
    for (int n = 0; n < kBeside; ++n) {
      const int o = std::min(first + n, layer.outputs - 1);
      row[n] = &parameters[layer.weights + o * layer.stride];
      sum[n] = parameters[layer.bias + o];
    }
    for (int i = 0; i < layer.inputs; ++i) {
#pragma GCC unroll 8
      for (int n = 0; n < kBeside; ++n) sum[n] += row[n][i] * x[i];
    }
    y.insert(y.end(), sum, sum + std::min(kBeside, layer.outputs - first));
  }
  return y;
}

// The values of all layers of an MLP: [0] is the input, the last is the output. Each hidden layer
// has ReLU, after layer normalisation if the shape has it.
inline std::vector<Vec> mlp_layers(const MlpShape& shape, const Vec& parameters, const Vec& x) {
  std::vector<Vec> values = {x};
  for (int l = 0; l < shape.layers(); ++l) {
    const auto& layer = shape.layer(l);
    Vec y = weighted_sums(layer, parameters, values[l]);
    if (l + 1 < shape.layers()) {
      double mean = 0, variance = 0;
      for (const double v : y) mean += v / layer.outputs;
      for (const double v : y) variance += (v - mean) * (v - mean) / layer.outputs;
      for (int o = 0; o < layer.outputs; ++o) {
        if (shape.norm()) {
          y[o] = (y[o] - mean) / std::sqrt(variance + 1e-5) * parameters[layer.gain + o] +
                 parameters[layer.shift + o];
        }
        y[o] = std::max(y[o], 0.0);
      }
    }
    values.push_back(y);
  }
  return values;
}

inline Vec mlp(const MlpShape& shape, const Vec& parameters, const Vec& x) {
  return mlp_layers(shape, parameters, x).back();
}

// Turns the gradient of a layer's output (`delta`, masked by its ReLU) into that of its weighted
// sums, given the layer's input `x`. Adds the gradients of gain and shift to `gradient`.
inline Vec norm_backward(const MlpShape::Layer& layer, const Vec& parameters, const Vec& x,
                         Vec delta, Vec& gradient) {
  Vec y = weighted_sums(layer, parameters, x);
  double mean = 0, variance = 0, sum = 0, products = 0;
  for (const double v : y) mean += v / layer.outputs;
  for (const double v : y) variance += (v - mean) * (v - mean) / layer.outputs;
  const double deviation = std::sqrt(variance + 1e-5);
  for (int o = 0; o < layer.outputs; ++o) {
    y[o] = (y[o] - mean) / deviation;
    gradient[layer.gain + o] += delta[o] * y[o];
    gradient[layer.shift + o] += delta[o];
    delta[o] *= parameters[layer.gain + o];
    sum += delta[o] / layer.outputs;
    products += delta[o] * y[o] / layer.outputs;
  }
  for (int o = 0; o < layer.outputs; ++o) y[o] = (delta[o] - sum - y[o] * products) / deviation;
  return y;
}

// Given the gradient of the output, adds the gradient of the parameters to `gradient` and returns
// the gradient of the input.
inline Vec mlp_backward(const MlpShape& shape, const Vec& parameters,
                        const std::vector<Vec>& values, Vec delta, Vec& gradient) {
  for (int l = shape.layers() - 1; l >= 0; --l) {
    const auto& layer = shape.layer(l);
    Vec below(layer.inputs);
    for (int o = 0; o < layer.outputs; ++o) {
      gradient[layer.bias + o] += delta[o];
      for (int i = 0; i < layer.inputs; ++i) {
        const std::size_t w = layer.weights + o * layer.stride + i;
        gradient[w] += delta[o] * values[l][i];
        if (l == 0 || values[l][i] > 0) below[i] += delta[o] * parameters[w];
      }
    }
    if (l > 0 && shape.norm())
      below = norm_backward(shape.layer(l - 1), parameters, values[l - 1], below, gradient);
    delta = below;
  }
  return delta;
}

// Central differences of f at x in the given coordinates; in all if none are given.
inline Vec gradient(const std::function<double(const Vec&)>& f, Vec x,
                    const std::vector<int>& which = {}, double h = 1e-6) {
  std::vector<int> coordinates = which;
  if (coordinates.empty()) {
    for (std::size_t i = 0; i < x.size(); ++i) coordinates.push_back(static_cast<int>(i));
  }
  Vec g;
  for (const int i : coordinates) {
    const double old = x[i];
    x[i] = old + h;
    const double up = f(x);
    x[i] = old - h;
    const double down = f(x);
    x[i] = old;
    g.push_back((up - down) / (2 * h));
  }
  return g;
}

}  // namespace ovde::reference
