#include "agent/discrete/action_head.h"

#include <algorithm>

namespace ovde {

namespace {

float dot(const float* a, const float* b, int count) {
  Vector sum{};
  for (int i = 0; i < count; i += kVector) sum += load(a + i) * load(b + i);
  return sum_lanes(sum);
}

void add_scaled(float scale, const float* x, float* y, int count) {
  for (int i = 0; i < count; i += kVector) store(y + i, load(y + i) + scale * load(x + i));
}

}  // namespace

ActionHead::ActionHead(const MlpShape& shape, int quantiles, int samples)
    : layer_(shape.layer(shape.layers() - 1)),
      quantiles_(quantiles),
      hidden_(static_cast<std::size_t>(samples) * layer_.stride),
      delta_(layer_.stride) {}

void ActionHead::forward(std::span<const float> parameters, const Batch& hidden,
                         std::span<const int> actions, Batch& values) {
  for (int s = 0; s < hidden.samples(); ++s) {
    float* x = hidden_.data() + static_cast<std::size_t>(s) * layer_.stride;
    for (int f = 0; f < layer_.inputs; ++f) x[f] = hidden.at(f, s);
    for (int i = 0; i < quantiles_; ++i) {
      const std::size_t o = row(actions[s], i);
      values.at(i, s) =
          parameters[layer_.bias + o] +
          dot(parameters.data() + layer_.weights + o * layer_.stride, x, layer_.stride);
    }
  }
}

void ActionHead::backward(std::span<const float> parameters, std::span<const int> actions,
                          const Batch& value_gradient, std::span<float> gradient,
                          Batch& hidden_gradient) {
  std::fill(gradient.begin() + static_cast<std::ptrdiff_t>(layer_.weights), gradient.end(), 0.0f);
  for (int s = 0; s < value_gradient.samples(); ++s) {
    const float* x = hidden_.data() + static_cast<std::size_t>(s) * layer_.stride;
    std::ranges::fill(delta_, 0.0f);
    for (int i = 0; i < quantiles_; ++i) {
      const std::size_t o = row(actions[s], i), weights = layer_.weights + o * layer_.stride;
      const float slope = value_gradient.at(i, s);
      add_scaled(slope, parameters.data() + weights, delta_.data(), layer_.stride);
      add_scaled(slope, x, gradient.data() + weights, layer_.stride);
      gradient[layer_.bias + o] += slope;
    }
    for (int f = 0; f < layer_.inputs; ++f) hidden_gradient.at(f, s) = x[f] > 0 ? delta_[f] : 0;
  }
}

void mean_layer(const MlpShape& shape, std::span<const float> parameters, int quantiles,
                float* weights, float* bias) {
  const auto& layer = shape.layer(shape.layers() - 1);
  const float share = 1.0f / static_cast<float>(quantiles);
  for (int a = 0; a < layer.outputs / quantiles; ++a) {
    float* mean = weights + static_cast<std::size_t>(a) * layer.stride;
    std::fill_n(mean, layer.stride, 0.0f);
    bias[a] = 0;
    for (int i = 0; i < quantiles; ++i) {
      const std::size_t o = static_cast<std::size_t>(a) * quantiles + i;
      add_scaled(share, parameters.data() + layer.weights + o * layer.stride, mean, layer.stride);
      bias[a] += share * parameters[layer.bias + o];
    }
  }
}

MlpShape mean_shape(const MlpShape& shape, int quantiles) {
  std::vector<int> hidden;
  for (int l = 0; l + 1 < shape.layers(); ++l) hidden.push_back(shape.layer(l).outputs);
  return {shape.inputs(), hidden, shape.outputs() / quantiles};
}

void mean_network(const MlpShape& shape, std::span<const float> parameters,
                  const MlpShape& mean_shape, std::span<float> mean_parameters) {
  // the layers below lie in the same places of both buffers
  const auto& last = mean_shape.layer(mean_shape.layers() - 1);
  std::copy_n(parameters.begin(), last.weights, mean_parameters.begin());
  mean_layer(shape, parameters, shape.outputs() / mean_shape.outputs(),
             mean_parameters.data() + last.weights, mean_parameters.data() + last.bias);
}

}  // namespace ovde
