// The implicit quantile network against libtorch's modules and autograd. Built only if libtorch
// is installed.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <ovde/random.h>
#include "nn/iqn.h"
#include "nn/torch_batch.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace nn = torch::nn;

struct TorchIqn : nn::Module {
  explicit TorchIqn(int inputs, int features, int merged)
      : feature_layer(nn::Linear(inputs, features), nn::LayerNorm(nn::LayerNormOptions({features})),
                      nn::ReLU()),
        gate(nn::Linear(64, features), nn::LayerNorm(nn::LayerNormOptions({features})),
             nn::Sigmoid()),
        merge(nn::Linear(features, merged), nn::LayerNorm(nn::LayerNormOptions({merged})),
              nn::ReLU()),
        output(nn::Linear(merged, 1)) {
    register_module("features", feature_layer);
    register_module("gate", gate);
    register_module("merge", merge);
    register_module("output", output);
  }

  // (batch x inputs), (batch x N) -> (batch x N)
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& tau) {
    const auto features = feature_layer->forward(x);
    const auto cosines = torch::cos(tau.unsqueeze(2) * torch::arange(1, 65) * M_PI);
    const auto gated = gate->forward(cosines) * features.unsqueeze(1);
    return output->forward(merge->forward(gated)).squeeze(2);
  }

  nn::Sequential feature_layer, gate, merge, output;
};

// The part of the flat buffer that holds parameter number `p` of a layer, in libtorch's order:
// weights, biases, gains, shifts.
torch::Tensor part(const IqnShape::Layer& layer, int p, std::span<float> buffer) {
  if (p == 0) {
    return torch::from_blob(buffer.data() + layer.weights, {layer.outputs, layer.inputs},
                            {layer.stride, 1});
  }
  const std::size_t at = p == 1 ? layer.bias : p == 2 ? layer.gain : layer.shift;
  return torch::from_blob(buffer.data() + at, {layer.outputs});
}

TEST(Torch, ImplicitQuantileNetworkAndItsGradientsAgree) {
  const int samples = 50, fractions = 8;
  const IqnShape shape(23, {256, 128});
  Buffer parameters(shape.size());
  initialise(shape, 1, 0, parameters);
  Random random(2, Stream::user);
  const auto fill = [&](Batch batch, auto draw) {
    for (int s = 0; s < batch.samples(); ++s) {
      for (int f = 0; f < batch.features(); ++f) batch.at(f, s) = static_cast<float>(draw());
    }
    return batch;
  };
  const Batch input = fill(Batch(23, samples), [&] { return random.normal(); });
  const Batch tau = fill(Batch(fractions, samples), [&] { return random.uniform(); });
  const Batch slope = fill(Batch(fractions, samples), [&] { return random.normal(); });
  for (const auto& layer : shape.layers()) {
    if (&layer == &shape.output()) break;
    for (int o = 0; o < layer.outputs; ++o) {
      parameters[layer.gain + o] = static_cast<float>(random.uniform(0.5, 1.5));
      parameters[layer.shift + o] = static_cast<float>(random.uniform(-0.5, 0.5));
    }
  }

  Iqn net(shape, Mlp::Use::forward_and_backward, 17, 6);
  net.pack(parameters);
  IqnActivations activations(shape, fractions, Mlp::Use::forward_and_backward);
  IqnDeltas deltas(shape, fractions);
  Batch values(fractions, samples), action_gradient(6, samples);
  Buffer gradient(shape.size());
  for (int b = 0; b < input.blocks(); ++b) {
    net.forward(parameters, input, tau, b, activations, values);
    net.backward(parameters, slope, b, activations, deltas, gradient);
    net.backward_to_input(parameters, slope, b, activations, deltas, action_gradient);
  }

  TorchIqn oracle(23, 256, 128);
  {
    const torch::NoGradGuard no_grad;
    const auto tensors = oracle.parameters();
    for (std::size_t i = 0; i < tensors.size(); ++i)
      tensors[i]
          .view_as(part(shape.layers()[i / 4], i % 4, parameters))
          .copy_(part(shape.layers()[i / 4], i % 4, parameters));
  }
  const auto x = rows(input).requires_grad_();
  const auto z = oracle.forward(x, rows(tau));
  EXPECT_LT((z - rows(values)).abs().max().item<float>(), 1e-5);
  (z * rows(slope)).sum().backward();
  const auto tensors = oracle.parameters();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto found = part(shape.layers()[i / 4], i % 4, gradient);
    EXPECT_LT((tensors[i].grad() - found).abs().max().item<float>(), 1e-3) << "tensor " << i;
  }
  EXPECT_LT((x.grad().slice(1, 17) - rows(action_gradient)).abs().max().item<float>(), 1e-4);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
