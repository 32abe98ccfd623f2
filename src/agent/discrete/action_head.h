// The output layer of a network that has N outputs for each of many actions, where every sample
// asks for one action's only: a product with the N rows of that action, forward and back. The cost
// does not grow with the number of actions.
#pragma once

#include <span>

#include "nn/mlp.h"

namespace ovde {

class ActionHead {
 public:
  ActionHead() = default;
  ActionHead(const MlpShape& shape, int quantiles, int samples);

  // values (N x batch) at the action of each sample, from the last hidden layer (after its ReLU).
  void forward(std::span<const float> parameters, const Batch& hidden, std::span<const int> actions,
               Batch& values);

  // At the last forward(), given the gradient of the values: that of the layer's parameters, all of
  // it, and that of the last hidden layer before its ReLU.
  void backward(std::span<const float> parameters, std::span<const int> actions,
                const Batch& value_gradient, std::span<float> gradient, Batch& hidden_gradient);

 private:
  std::size_t row(int action, int quantile) const {
    return static_cast<std::size_t>(action) * quantiles_ + quantile;
  }

  MlpShape::Layer layer_{};
  int quantiles_ = 0;
  Buffer hidden_;  // sample after sample: [sample][stride]
  Buffer delta_;   // [stride]
};

// The mean of each action's N outputs is itself the output of a layer, whose weights (actions x
// stride) and biases (actions) are means. `parameters` are those of the whole network.
void mean_layer(const MlpShape& shape, std::span<const float> parameters, int quantiles,
                float* weights, float* bias);

// The whole network with that layer for its last: its shape, and its parameters.
MlpShape mean_shape(const MlpShape& shape, int quantiles);
void mean_network(const MlpShape& shape, std::span<const float> parameters,
                  const MlpShape& mean_shape, std::span<float> mean_parameters);

}  // namespace ovde
