// DSAC and OVD-Explorer's action written on libtorch, as one would write them there: modules,
// autograd, optimisers. The yardstick of bench_libtorch and an oracle of the tests.
#pragma once

#include <torch/torch.h>

#include <array>
#include <vector>

#include "agent/actor_critic/learner.h"
#include "agent/explore/ovd.h"

namespace ovde::yardstick {

struct NetImpl : torch::nn::Module {
  NetImpl(int inputs, const std::vector<int>& hidden, int outputs) {
    int from = inputs;
    for (const int width : hidden) {
      layers->push_back(torch::nn::Linear(from, width));
      layers->push_back(torch::nn::ReLU());
      from = width;
    }
    layers->push_back(torch::nn::Linear(from, outputs));
    register_module("layers", layers);
  }
  torch::Tensor forward(const torch::Tensor& x) { return layers->forward(x); }

  torch::nn::Sequential layers;
};
TORCH_MODULE(Net);

// A batch of transitions, one a row.
struct Transitions {
  torch::Tensor observation, action, reward, next_observation, terminal;
};

struct Sampled {
  torch::Tensor action, log_probability;
};

class Dsac {
 public:
  explicit Dsac(const LearnerOptions& options)
      : options_(options),
        actor(make_actor()),
        actor_target(make_actor()),
        critics{make_critic(), make_critic()},
        critic_targets{make_critic(), make_critic()},
        log_alpha(torch::zeros({1}, torch::requires_grad())),
        actor_optimiser(actor->parameters(), adam()),
        critic_optimiser(both(critics), adam()),
        alpha_optimiser({log_alpha}, adam()),
        fractions_((torch::arange(options.critic.quantiles) + 0.5) / options.critic.quantiles) {
    const torch::NoGradGuard no_grad;
    copy(actor, actor_target);
    for (int k = 0; k < 2; ++k) copy(critics[k], critic_targets[k]);
  }

  Sampled sample(Net& policy, const torch::Tensor& observation, const torch::Tensor& noise) {
    const auto parts = policy->forward(observation).chunk(2, 1);
    const auto log_std = parts[1].clamp(-20, 2);
    const auto action = torch::tanh(parts[0] + log_std.exp() * noise);
    const auto log_probability = -0.5 * noise.square() - log_std - 0.5 * std::log(2 * M_PI) -
                                 torch::log(1 - action.square() + 1e-6);
    return {action, log_probability.sum(1, true)};
  }

  void update(const Transitions& t, const torch::Tensor& noise, const torch::Tensor& next_noise) {
    // temperature
    const Sampled now = sample(actor, t.observation, noise);
    const auto temperature_loss =
        -(log_alpha * (now.log_probability.detach() - options_.action_size)).mean();
    alpha_optimiser.zero_grad();
    temperature_loss.backward();
    alpha_optimiser.step();
    const auto alpha = log_alpha.detach().exp();

    // critics
    torch::Tensor target;
    {
      const torch::NoGradGuard no_grad;
      const Sampled next = sample(actor_target, t.next_observation, next_noise);
      const auto input = torch::cat({t.next_observation, next.action}, 1);
      const auto z =
          torch::minimum(critic_targets[0]->forward(input), critic_targets[1]->forward(input));
      target = t.reward +
               options_.train.discount * (1 - t.terminal) * (z - alpha * next.log_probability);
    }
    const auto state_action = torch::cat({t.observation, t.action}, 1);
    const auto loss = quantile_loss(target, critics[0]->forward(state_action)) +
                      quantile_loss(target, critics[1]->forward(state_action));
    critic_optimiser.zero_grad();
    loss.backward();
    critic_optimiser.step();

    // actor; the critics' own gradients are not wanted here
    require_gradients(false);
    const auto state_new_action = torch::cat({t.observation, now.action}, 1);
    const auto q = torch::minimum(critics[0]->forward(state_new_action).mean(1, true),
                                  critics[1]->forward(state_new_action).mean(1, true));
    const auto actor_loss = (alpha * now.log_probability - q).mean();
    actor_optimiser.zero_grad();
    actor_loss.backward();
    actor_optimiser.step();
    require_gradients(true);

    // target networks
    const torch::NoGradGuard no_grad;
    average(actor, actor_target);
    for (int k = 0; k < 2; ++k) average(critics[k], critic_targets[k]);
  }

  // OVDE_G's behaviour policy at one observation (1 x observations).
  torch::Tensor explore(const torch::Tensor& observation, const OvdRule& o) {
    torch::Tensor mean, std;
    {
      const torch::NoGradGuard no_grad;
      const auto parts = actor->forward(observation).chunk(2, 1);
      mean = parts[0];
      std = parts[1].clamp(-20, 2).exp();
    }
    const auto u = mean.clone().requires_grad_();
    const auto input = torch::cat({observation, torch::tanh(u)}, 1);
    const auto z1 = critics[0]->forward(input), z2 = critics[1]->forward(input);
    const auto middle = (z1 + z2) / 2;
    const auto mu = middle.mean();
    const auto epistemic = ((z1 - z2) / 2).square().mean().sqrt();
    const auto upper_bound = mu + o.beta * epistemic;
    const auto gradient = torch::autograd::grad({upper_bound}, {u})[0];

    const torch::NoGradGuard no_grad;
    const auto aleatoric = middle.std(1, false).mean();
    const auto below = (upper_bound - (mu - o.beta * epistemic)) / (aleatoric * std::sqrt(2.0));
    const auto m = torch::log(0.5 * (1 + torch::erf(below)) / o.normaliser) + 1;
    const auto shifted = mean + o.alpha * m * gradient / (gradient.norm() + 1e-8);
    return torch::tanh(shifted + std * torch::randn_like(std));
  }

  void require_gradients(bool on) {
    for (Net& net : critics) {
      for (auto& p : net->parameters()) p.requires_grad_(on);
    }
  }

 private:
  Net make_actor() const {
    return Net(options_.observation_size, options_.network.hidden, 2 * options_.action_size);
  }
  Net make_critic() const {
    return Net(options_.observation_size + options_.action_size, options_.network.hidden,
               options_.critic.quantiles);
  }
  torch::optim::AdamOptions adam() const {
    return torch::optim::AdamOptions(options_.train.adam.learning_rate)
        .betas({options_.train.adam.beta1, options_.train.adam.beta2})
        .eps(options_.train.adam.epsilon);
  }
  static std::vector<torch::Tensor> both(std::array<Net, 2>& nets) {
    auto all = nets[0]->parameters();
    const auto more = nets[1]->parameters();
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  static void copy(Net& from, Net& to) {
    const auto a = from->parameters(), b = to->parameters();
    for (std::size_t i = 0; i < a.size(); ++i) b[i].copy_(a[i]);
  }
  void average(Net& from, Net& to) const {
    const auto a = from->parameters(), b = to->parameters();
    for (std::size_t i = 0; i < a.size(); ++i) b[i].lerp_(a[i], options_.train.polyak);
  }

  // Every target (batch x N x 1) against every prediction (batch x 1 x N).
  torch::Tensor quantile_loss(const torch::Tensor& target, const torch::Tensor& z) const {
    const auto error = target.unsqueeze(2) - z.unsqueeze(1);
    const auto huber =
        torch::huber_loss(z.unsqueeze(1).expand_as(error), target.unsqueeze(2).expand_as(error),
                          at::Reduction::None, 1.0);
    const auto weight = (fractions_ - (error.detach() < 0).to(torch::kFloat)).abs();
    return (weight * huber).sum({1, 2}).mean() / options_.critic.quantiles;
  }

  LearnerOptions options_;

 public:
  Net actor, actor_target;
  std::array<Net, 2> critics, critic_targets;
  torch::Tensor log_alpha;
  torch::optim::Adam actor_optimiser, critic_optimiser, alpha_optimiser;

 private:
  torch::Tensor fractions_;
};

// The learner's parameters of one network, which are padded, into a module and the way back.
inline void load(const MlpShape& shape, std::span<const float> parameters, Net& net) {
  const torch::NoGradGuard no_grad;
  const auto tensors = net->parameters();
  for (int l = 0; l < shape.layers(); ++l) {
    const auto& layer = shape.layer(l);
    auto* data = const_cast<float*>(parameters.data());
    tensors[2 * l].copy_(
        torch::from_blob(data + layer.weights, {layer.outputs, layer.inputs}, {layer.stride, 1}));
    tensors[2 * l + 1].copy_(torch::from_blob(data + layer.bias, {layer.outputs}));
  }
}

inline std::vector<float> flat(const MlpShape& shape, const std::vector<torch::Tensor>& tensors) {
  std::vector<float> parameters(shape.size());
  for (int l = 0; l < shape.layers(); ++l) {
    const auto& layer = shape.layer(l);
    const auto weights = tensors[2 * l].detach().contiguous();
    const auto bias = tensors[2 * l + 1].detach().contiguous();
    for (int o = 0; o < layer.outputs; ++o) {
      std::copy_n(weights.data_ptr<float>() + o * layer.inputs, layer.inputs,
                  parameters.data() + layer.weights + o * layer.stride);
    }
    std::copy_n(bias.data_ptr<float>(), layer.outputs, parameters.data() + layer.bias);
  }
  return parameters;
}

}  // namespace ovde::yardstick
