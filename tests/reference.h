// Plain double-precision re-derivations that the tests compare with: one sample at a time, textbook
// loops, gradients by central differences. Shares nothing with the implementation but the layout of
// the parameter buffer.
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

// Output of an MLP with ReLU between its layers.
inline Vec mlp(const MlpShape& shape, const Vec& parameters, Vec x) {
  for (int l = 0; l < shape.layers(); ++l) {
    const auto& layer = shape.layer(l);
    Vec y(layer.outputs);
    for (int o = 0; o < layer.outputs; ++o) {
      y[o] = parameters[layer.bias + o];
      for (int i = 0; i < layer.inputs; ++i)
        y[o] += parameters[layer.weights + o * layer.stride + i] * x[i];
      if (l + 1 < shape.layers()) y[o] = std::max(y[o], 0.0);
    }
    x = y;
  }
  return x;
}

// Central differences of f at x, in the chosen coordinates (all where none are given).
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
