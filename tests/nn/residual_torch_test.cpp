// The residual network against libtorch's modules and autograd. Built only if libtorch is
// installed.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include "nn/residual_case.h"
#include "nn/torch_batch.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace nn = torch::nn;

struct TorchResidual : nn::Module {
  explicit TorchResidual(const ResidualShape& shape) {
    for (const auto& linear : shape.linears()) {
      const bool head = &linear == &shape.head();
      linears.push_back(nn::Linear(nn::LinearOptions(linear.inputs, linear.outputs).bias(head)));
      register_module("linear_" + std::to_string(linears.size()), linears.back());
    }
    for (const auto& norm : shape.norms()) {
      norms.push_back(nn::BatchNorm1d(nn::BatchNorm1dOptions(norm.width).momentum(0.01)));
      register_module("norm_" + std::to_string(norms.size()), norms.back());
    }
    gain = register_parameter("gain", torch::ones({shape.width()}));
  }

  torch::Tensor forward(const torch::Tensor& input) {
    auto x = linears[0]->forward(norms[0]->forward(input));
    for (std::size_t l = 1; l + 1 < linears.size(); l += 2) {
      const auto inside = torch::relu(norms[l]->forward(linears[l]->forward(x)));
      x = x + torch::relu(norms[l + 1]->forward(linears[l + 1]->forward(inside)));
    }
    x = x * torch::rsqrt((x * x).mean(1, true) + 1e-6) * gain;
    return linears.back()->forward(x);
  }

  std::vector<nn::Linear> linears;
  std::vector<nn::BatchNorm1d> norms;
  torch::Tensor gain;
};

// The parts of the flat buffer beside the tensors that hold the same parameters.
std::vector<std::pair<torch::Tensor, torch::Tensor>> parts(const ResidualShape& shape,
                                                           TorchResidual& oracle,
                                                           std::span<float> buffer) {
  const auto vector = [&](std::size_t at, int n) {
    return torch::from_blob(buffer.data() + at, {n});
  };
  std::vector<std::pair<torch::Tensor, torch::Tensor>> all;
  for (std::size_t l = 0; l < shape.linears().size(); ++l) {
    const auto& linear = shape.linears()[l];
    all.emplace_back(oracle.linears[l]->weight,
                     torch::from_blob(buffer.data() + linear.weights,
                                      {linear.outputs, linear.inputs}, {linear.stride, 1}));
  }
  for (std::size_t l = 0; l < shape.norms().size(); ++l) {
    const auto& norm = shape.norms()[l];
    all.emplace_back(oracle.norms[l]->weight, vector(norm.gain, norm.width));
    all.emplace_back(oracle.norms[l]->bias, vector(norm.shift, norm.width));
  }
  all.emplace_back(oracle.gain, vector(shape.head_gain(), shape.width()));
  all.emplace_back(oracle.linears.back()->bias, vector(shape.head_bias(), shape.outputs()));
  return all;
}

TEST(Torch, ResidualNetworkAndItsGradientsAgree) {
  const int samples = 50, actions = 6;
  const ResidualShape shape(23, 64, 2, 4, 20);
  ResidualCase c(shape, samples);
  Residual net(shape, Mlp::Use::forward_and_backward);
  net.pack(c.parameters);
  ResidualTrace trace(shape, samples);
  ResidualDeltas deltas(shape, samples);
  Team team(1);

  TorchResidual oracle(shape);
  {
    const torch::NoGradGuard no_grad;
    for (const auto& [theirs, ours] : parts(shape, oracle, c.parameters)) theirs.copy_(ours);
    for (std::size_t l = 0; l < shape.norms().size(); ++l) {
      const auto& norm = shape.norms()[l];
      oracle.norms[l]->running_mean.copy_(
          torch::from_blob(c.statistics.data() + norm.mean, {norm.width}));
      oracle.norms[l]->running_var.copy_(
          torch::from_blob(c.statistics.data() + norm.variance, {norm.width}));
    }
  }

  // in acting: the outputs and the gradient of the actions
  const MlpShape acting = shape.acting();
  Buffer folded(acting.size());
  fold(shape, c.parameters, c.statistics, acting, folded);
  Mlp mlp(acting, Mlp::Use::forward_and_backward, 23 - actions, actions);
  mlp.pack(folded);
  Activations activations(acting, samples);
  Deltas back(acting, samples);
  Batch action_gradient(actions, samples);
  mlp.forward(folded, c.first, activations, all_blocks(c.first));
  back.output() = c.slope;
  mlp.backward_to_input(activations, back, acting.layers() - 1, action_gradient,
                        all_blocks(c.first));
  oracle.eval();
  const auto x = rows(c.first).requires_grad_();
  const auto acted = oracle.forward(x);
  EXPECT_LT((acted - rows(activations.output())).abs().max().item<float>(), 1e-5);
  (acted * rows(c.slope)).sum().backward();
  EXPECT_LT((x.grad().slice(1, 23 - actions) - rows(action_gradient)).abs().max().item<float>(),
            1e-4);

  // in training: the outputs at both batches, all gradients and the running statistics
  oracle.train();
  oracle.zero_grad();
  const auto y = oracle.forward(torch::cat({rows(c.first), rows(c.second)}));
  (y.slice(0, 0, samples) * rows(c.slope)).sum().backward();
  net.forward(c.parameters, c.input(), 1, trace, team);
  EXPECT_LT((y.slice(0, samples) - rows(trace.head_output)).abs().max().item<float>(), 1e-5);
  net.forward(c.parameters, c.input(), 0, trace, team);
  EXPECT_LT((y.slice(0, 0, samples) - rows(trace.head_output)).abs().max().item<float>(), 1e-5);
  net.backward(c.parameters, trace, c.slope, deltas, team);
  for (std::size_t i = 0; i < shape.size(); ++i) deltas.gradient[0][i] += deltas.gradient[1][i];
  int tensor = 0;
  for (const auto& [theirs, ours] : parts(shape, oracle, deltas.gradient[0]))
    EXPECT_LT((theirs.grad() - ours).abs().max().item<float>(), 1e-3) << "tensor " << tensor++;
  net.follow(trace, c.statistics);
  for (std::size_t l = 0; l < shape.norms().size(); ++l) {
    const auto& norm = shape.norms()[l];
    const auto same = [&](const torch::Tensor& theirs, std::size_t at) {
      const auto ours = torch::from_blob(c.statistics.data() + at, {norm.width});
      EXPECT_LT((theirs - ours).abs().max().item<float>(), 1e-5) << "norm " << l;
    };
    same(oracle.norms[l]->running_mean, norm.mean);
    same(oracle.norms[l]->running_var, norm.variance);
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
