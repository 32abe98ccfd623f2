// The residual network in double precision, one number at a time. Shares only the layout of the
// parameter buffer with the implementation.
#pragma once

#include <cmath>
#include <vector>

#include "nn/residual.h"
#include "reference.h"

namespace ovde::reference {

using Samples = std::vector<Vec>;  // a sample each

// The norm of all samples by their own moments or, unless `statistics` is null, by running ones.
inline Samples batch_norm(const ResidualShape::Norm& norm, const Vec& parameters,
                          const Vec* statistics, Samples x) {
  for (int f = 0; f < norm.width; ++f) {
    double mean = 0, variance = 0;
    for (const Vec& sample : x) mean += sample[f] / x.size();
    for (const Vec& sample : x) variance += std::pow(sample[f] - mean, 2) / x.size();
    if (statistics) mean = (*statistics)[norm.mean + f];
    if (statistics) variance = (*statistics)[norm.variance + f];
    for (Vec& sample : x) {
      sample[f] = (sample[f] - mean) / std::sqrt(variance + 1e-5) * parameters[norm.gain + f] +
                  parameters[norm.shift + f];
    }
  }
  return x;
}

inline Samples linear(const ResidualShape::Linear& linear, const Vec& parameters,
                      const Samples& x) {
  Samples y(x.size(), Vec(linear.outputs));
  for (std::size_t s = 0; s < x.size(); ++s) {
    for (int o = 0; o < linear.outputs; ++o) {
      for (int i = 0; i < linear.inputs; ++i)
        y[s][o] += parameters[linear.weights + o * linear.stride + i] * x[s][i];
    }
  }
  return y;
}

// The outputs at all samples as one batch; with `statistics`, as in acting.
inline Samples residual(const ResidualShape& shape, const Vec& parameters, const Samples& input,
                        const Vec* statistics = nullptr) {
  const auto norm = [&](int l, const Samples& x) {
    return batch_norm(shape.norms()[l], parameters, statistics, x);
  };
  const auto relu = [](Samples x) {
    for (Vec& sample : x) {
      for (double& v : sample) v = std::max(v, 0.0);
    }
    return x;
  };
  Samples x = linear(shape.linears()[0], parameters, norm(0, input));
  for (int l = 1; l < 2 * shape.blocks(); l += 2) {
    const Samples inside = relu(norm(l, linear(shape.linears()[l], parameters, x)));
    const Samples added = relu(norm(l + 1, linear(shape.linears()[l + 1], parameters, inside)));
    for (std::size_t s = 0; s < x.size(); ++s) {
      for (int f = 0; f < shape.width(); ++f) x[s][f] += added[s][f];
    }
  }
  for (Vec& sample : x) {
    double squares = 0;
    for (const double v : sample) squares += v * v / sample.size();
    for (int f = 0; f < shape.width(); ++f)
      sample[f] *= parameters[shape.head_gain() + f] / std::sqrt(squares + 1e-6);
  }
  Samples y = linear(shape.head(), parameters, x);
  for (Vec& sample : y) {
    for (int o = 0; o < shape.outputs(); ++o) sample[o] += parameters[shape.head_bias() + o];
  }
  return y;
}

}  // namespace ovde::reference
