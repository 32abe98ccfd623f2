#include "act/acting_part.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "agent/discrete/grid_critic.h"

namespace ovde {

namespace {

// The network with only the first `outputs` outputs.
StoredPolicy::Network with_outputs(const StoredPolicy::Network& network, int outputs) {
  const MlpShape& shape = network.shape;
  StoredPolicy::Network part{shape.with_outputs(outputs), {}};
  part.parameters = Buffer(part.shape.size());
  for (int l = 0; l < shape.layers(); ++l) {
    const auto &from = shape.layer(l), &to = part.shape.layer(l);
    for (int o = 0; o < to.outputs; ++o) {
      std::copy_n(
          network.parameters.begin() + from.weights + static_cast<std::size_t>(o) * from.stride,
          from.inputs,
          part.parameters.begin() + to.weights + static_cast<std::size_t>(o) * to.stride);
    }
    std::copy_n(network.parameters.begin() + from.bias, to.outputs,
                part.parameters.begin() + to.bias);
  }
  return part;
}

StoredPolicy::Network with_means(const StoredPolicy::Network& critic, int actions) {
  const int quantiles = critic.shape.outputs() / actions;
  StoredPolicy::Network part{mean_shape(critic.shape, quantiles), {}};
  part.parameters = Buffer(part.shape.size());
  mean_network(critic.shape, critic.parameters, part.shape, part.parameters);
  return part;
}

std::vector<double> forward(const StoredPolicy::Network& network,
                            std::span<const float> observation) {
  std::vector<double> x(observation.begin(), observation.end());
  std::vector<double> sum;  // the sum of the residual blocks so far
  for (int l = 0; l < network.shape.layers(); ++l) {
    const auto& layer = network.shape.layer(l);
    std::vector<double> y(layer.outputs);
    for (int o = 0; o < layer.outputs; ++o) {
      const float* row =
          network.parameters.data() + layer.weights + static_cast<std::size_t>(o) * layer.stride;
      y[o] = network.parameters[layer.bias + o];
      for (int i = 0; i < layer.inputs; ++i) y[o] += double{row[i]} * x[i];
      if (network.shape.has_relu(l)) y[o] = std::max(y[o], 0.0);
      if (network.shape.ends_block(l)) y[o] += sum[o];
    }
    if (l % 2 == 0) sum = y;
    if (network.shape.precedes_rms_norm(l)) {
      double squares = 0;
      for (const double v : y) squares += v * v / layer.outputs;
      for (double& v : y) v /= std::sqrt(squares + kRmsNormEpsilon);
    }
    x = std::move(y);
  }
  return x;
}

}  // namespace

StoredPolicy acting_part(const StoredPolicy& policy) {
  StoredPolicy part{{}, policy.bins, policy.low, policy.high};
  for (const auto& network : policy.networks) {
    part.networks.push_back(
        policy.bins ? with_means(network, ActionGrid::count(policy.actions(), *policy.bins))
                    : with_outputs(network, policy.actions()));
  }
  return part;
}

void act_in_double(const StoredPolicy& part, std::span<const float> observation,
                   std::span<double> action) {
  std::vector<double> value = forward(part.networks[0], observation);
  if (part.bins) {
    const std::vector<double> second = forward(part.networks[1], observation);
    for (std::size_t n = 0; n < value.size(); ++n) value[n] += second[n];
    const auto best = std::ranges::max_element(value) - value.begin();
    ActionGrid(part.actions(), *part.bins).action(static_cast<int>(best), action);
  } else {
    std::ranges::transform(value, action.begin(), [](double mean) { return std::tanh(mean); });
  }
  for (std::size_t d = 0; d < action.size(); ++d)
    action[d] = part.low[d] + (action[d] + 1) / 2 * (double{part.high[d]} - part.low[d]);
}

}  // namespace ovde
