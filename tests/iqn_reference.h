// The implicit quantile network and its gradients in double precision, one sample and one fraction
// at a time. Shares only the layout of the parameter buffer with the implementation.
#pragma once

#include <cmath>
#include <numbers>
#include <vector>

#include "nn/iqn.h"
#include "reference.h"

namespace ovde::reference {

class IqnReference {
 public:
  IqnReference(const IqnShape& shape, const Vec& parameters)
      : shape_(shape), parameters_(parameters) {}

  double operator()(const Vec& x, double tau) {
    tape_.clear();
    Vec features = x;
    for (int l = 0; l < shape_.feature_layers(); ++l)
      features = relu(normed(shape_.features(l), features));
    Vec cosines;
    for (int j = 1; j <= 64; ++j) cosines.push_back(std::cos(std::numbers::pi * j * tau));
    Vec gate = normed(shape_.gate(), cosines);
    for (double& g : gate) g = 1 / (1 + std::exp(-g));
    Vec gated;
    for (std::size_t f = 0; f < features.size(); ++f) gated.push_back(features[f] * gate[f]);
    features_ = features;
    gate_ = gate;
    merged_ = relu(normed(shape_.merge(), gated));
    return linear(shape_.output(), merged_)[0];
  }

  // Adds the gradient of the parameters at the last evaluation, times `slope`, to `gradient`;
  // returns the gradient of the input.
  Vec backward(double slope, Vec& gradient) const {
    Vec delta = linear_backward(shape_.output(), merged_, {slope}, gradient);
    delta = normed_backward(static_cast<int>(tape_.size()) - 1, mask(delta, merged_), gradient);
    Vec by_features, by_gate;
    for (std::size_t f = 0; f < delta.size(); ++f) {
      by_features.push_back(delta[f] * gate_[f]);
      by_gate.push_back(delta[f] * features_[f] * gate_[f] * (1 - gate_[f]));
    }
    normed_backward(shape_.feature_layers(), by_gate, gradient);
    for (int l = shape_.feature_layers() - 1; l >= 0; --l) {
      const Vec& output = l + 1 == shape_.feature_layers() ? features_ : tape_[l + 1].input;
      by_features = normed_backward(l, mask(by_features, output), gradient);
    }
    return by_features;
  }

 private:
  struct Step {
    const IqnShape::Layer* layer;
    Vec input, normal;
    double deviation;
  };

  static Vec relu(Vec x) {
    for (double& v : x) v = std::max(v, 0.0);
    return x;
  }
  static Vec mask(Vec delta, const Vec& output) {
    for (std::size_t i = 0; i < delta.size(); ++i) delta[i] = output[i] > 0 ? delta[i] : 0;
    return delta;
  }

  Vec linear(const IqnShape::Layer& layer, const Vec& x) const {
    Vec y(layer.outputs);
    for (int o = 0; o < layer.outputs; ++o) {
      y[o] = parameters_[layer.bias + o];
      for (int i = 0; i < layer.inputs; ++i)
        y[o] += parameters_[layer.weights + o * layer.stride + i] * x[i];
    }
    return y;
  }

  Vec linear_backward(const IqnShape::Layer& layer, const Vec& x, const Vec& delta,
                      Vec& gradient) const {
    Vec below(layer.inputs);
    for (int o = 0; o < layer.outputs; ++o) {
      gradient[layer.bias + o] += delta[o];
      for (int i = 0; i < layer.inputs; ++i) {
        gradient[layer.weights + o * layer.stride + i] += delta[o] * x[i];
        below[i] += delta[o] * parameters_[layer.weights + o * layer.stride + i];
      }
    }
    return below;
  }

  Vec normed(const IqnShape::Layer& layer, const Vec& x) {
    Vec y = linear(layer, x);
    double mean = 0, variance = 0;
    for (const double v : y) mean += v / layer.outputs;
    for (const double v : y) variance += (v - mean) * (v - mean) / layer.outputs;
    const double deviation = shape_.norm() ? std::sqrt(variance + 1e-5) : 1;
    if (!shape_.norm()) mean = 0;
    Vec normal;
    for (double& v : y) normal.push_back((v - mean) / deviation);
    for (int o = 0; o < layer.outputs; ++o)
      y[o] = parameters_[layer.gain + o] * normal[o] + parameters_[layer.shift + o];
    tape_.push_back({&layer, x, normal, deviation});
    return y;
  }

  Vec normed_backward(int step, const Vec& delta, Vec& gradient) const {
    const auto& [layer, input, normal, deviation] = tape_[step];
    Vec by_normal(layer->outputs);
    double mean = 0, correlation = 0;
    for (int o = 0; o < layer->outputs; ++o) {
      gradient[layer->gain + o] += delta[o] * normal[o];
      gradient[layer->shift + o] += delta[o];
      by_normal[o] = delta[o] * parameters_[layer->gain + o];
      mean += by_normal[o] / layer->outputs;
      correlation += by_normal[o] * normal[o] / layer->outputs;
    }
    for (int o = 0; o < layer->outputs; ++o)
      if (shape_.norm()) by_normal[o] = (by_normal[o] - mean - normal[o] * correlation) / deviation;
    return linear_backward(*layer, input, by_normal, gradient);
  }

  const IqnShape& shape_;
  const Vec& parameters_;
  std::vector<Step> tape_;  // the normalised layers of the last evaluation
  Vec features_, gate_, merged_;
};

}  // namespace ovde::reference
