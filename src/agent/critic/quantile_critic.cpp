#include "agent/critic/quantile_critic.h"

#include <algorithm>

#include "agent/critic/quantile_loss.h"

namespace ovde {

MlpShape quantile_critic_shape(const LearnerOptions& options) {
  return {options.observation_size + options.action_size, options.network.hidden,
          options.critic.quantiles, options.critic.norm};
}

QuantileCritic::QuantileCritic(const LearnerOptions& options, int k)
    : shape_(quantile_critic_shape(options)),
      distributional_(options.distributional),
      batch_(options.train.batch),
      adam_(options.train.adam),
      fractions_(midpoints(options.critic.quantiles)),
      net_(shape_.size()),
      online_(shape_, Mlp::Use::forward_and_backward, options.observation_size,
              options.action_size),
      target_(shape_, Mlp::Use::forward),
      activations_(shape_, options.train.batch),
      target_activations_(shape_, options.train.batch),
      deltas_(shape_, options.train.batch),
      gradient_(shape_.size()),
      scratch_(shape_.widest(), options.train.batch),
      mean_weights_(shape_.layer(shape_.layers() - 1).stride),
      mean_(1, options.train.batch),
      action_gradient_(options.action_size, options.train.batch) {
  initialise_pair(options.network.targets, 1 + static_cast<std::uint32_t>(k), net_,
                  [&](std::uint32_t number, std::span<float> parameters) {
                    initialise(shape_, options.seed, number, kCriticOutputRange, parameters,
                               options.network.init);
                  });
  restored();
}

const Batch& QuantileCritic::target_values(const Batch& next_state_action, std::uint64_t) {
  target_.forward(net_.target, next_state_action, target_activations_, all_blocks(mean_));
  return target_activations_.output();
}

double QuantileCritic::learn(const Batch& state_action, const Batch& targets, const Batch& weight,
                             float polyak, std::uint64_t update) {
  const Blocks blocks = all_blocks(mean_);
  online_.forward(net_.parameters, state_action, activations_, blocks);
  const double loss =
      distributional_
          ? quantile_huber_loss(targets, values(), fractions_, weight, deltas_.output(), blocks)
          : squared_loss(targets, values(), weight, deltas_.output(), blocks);
  online_.backward(state_action, activations_, deltas_, blocks, gradient_, scratch_);
  adam_step(adam_, update + 1, gradient_, {}, polyak, 0, gradient_.size(), net_);
  restored();
  return loss;
}

void QuantileCritic::evaluate(const Batch& state_action, bool, std::uint64_t) {
  const Blocks blocks = all_blocks(mean_);
  online_.forward(net_.parameters, state_action, activations_, blocks);
  const int quantiles = shape_.outputs();
  const float scale = 1.0f / static_cast<float>(quantiles);
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int v = 0; v < kLanes; v += kVector) {
      Vector sum{};
      for (int i = 0; i < quantiles; ++i) sum += load(values().row(b, i) + v);
      store(mean_.row(b, 0) + v, sum * scale);
    }
  }
}

// The last layer's mean gradient does not depend on the sample, so the backward pass starts at the
// last hidden layer.
const Batch& QuantileCritic::action_gradient(const Batch& share, Blocks blocks) {
  const int last_hidden = shape_.layers() - 2;
  const Batch& hidden = activations_.layer[last_hidden];
  Batch& delta = deltas_.layer[last_hidden];
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int v = 0; v < kLanes; v += kVector) {
      const Vector part = load(share.row(b, 0) + v);
      const auto counts = part != 0;
      for (int f = 0; f < hidden.features(); ++f) {
        const Vector weight = part * mean_weights_[f];
        store(delta.row(b, f) + v, (counts & (load(hidden.row(b, f) + v) > 0)) ? weight : Vector{});
      }
    }
  }
  online_.backward_to_input(activations_, deltas_, last_hidden, action_gradient_, blocks);
  return action_gradient_;
}

const Batch& QuantileCritic::action_gradient_by_value(const Batch&, const Batch& share) {
  const float equal = 1.0f / static_cast<float>(shape_.outputs());
  Batch& delta = deltas_.output();
  for (int b = 0; b < delta.blocks(); ++b) {
    for (int i = 0; i < delta.features(); ++i) {
      for (int v = 0; v < kLanes; v += kVector)
        store(delta.row(b, i) + v, load(share.row(b, i) + v) * equal);
    }
  }
  online_.backward_to_input(activations_, deltas_, shape_.layers() - 1, action_gradient_,
                            all_blocks(mean_));
  return action_gradient_;
}

void QuantileCritic::restored() {
  online_.pack(net_.parameters);
  target_.pack(net_.target);
  const auto& last = shape_.layer(shape_.layers() - 1);
  std::ranges::fill(mean_weights_, 0.0f);
  for (int o = 0; o < last.outputs; ++o) {
    const float* row =
        net_.parameters.data() + last.weights + static_cast<std::size_t>(o) * last.stride;
    for (int f = 0; f < last.stride; ++f)
      mean_weights_[f] += row[f] / static_cast<float>(last.outputs);
  }
}

double QuantileCritic::learning_flop() const {
  // forward passes of both networks, gradients of the weights, backward pass
  return 2.0 * batch_ * (3 * shape_.products() + shape_.products(1));
}

double QuantileCritic::action_gradient_flop(bool by_value) const {
  const auto &first = shape_.layer(0), &last = shape_.layer(shape_.layers() - 1);
  return 2.0 * batch_ *
         (shape_.products(1) - (by_value ? 0 : double(last.inputs) * last.outputs) +
          double(action_gradient_.features()) * first.outputs);
}

// ---- acting

QuantileCriticPair::QuantileCriticPair(const MlpShape& shape, int observation_size,
                                       const UncertaintyForm& form)
    : observation_size_(observation_size),
      pass_{SinglePass(shape), SinglePass(shape)},
      quantiles_(shape.outputs()) {
  quantiles_.form = form;
  for (Gradients& gradients : gradients_) {
    gradients.output.resize(shape.outputs());
    gradients.input.resize(shape.inputs() - observation_size);
  }
}

void QuantileCriticPair::load(std::span<const float> first, std::span<const float> second) {
  pass_[0].load(first);
  pass_[1].load(second);
}

const QuantilePair& QuantileCriticPair::quantiles(std::span<const float> observation,
                                                  std::span<const float> action, Random&) {
  for_each_critic([&](int k) {
    const auto input = pass_[k].input();
    std::ranges::copy(observation, input.begin());
    std::ranges::copy(action, input.begin() + observation_size_);
    std::ranges::copy(pass_[k].forward(), quantiles_.critic[k].begin());
  });
  check_finite(quantiles_);
  return quantiles_;
}

void QuantileCriticPair::action_gradient(const QuantilePair& quantile_gradient,
                                         std::span<double> gradient) {
  for_each_critic([&](int k) {
    std::ranges::transform(quantile_gradient.critic[k], gradients_[k].output.begin(),
                           [](double x) { return static_cast<float>(x); });
    pass_[k].backward(gradients_[k].output, observation_size_, gradients_[k].input);
  });
  for (std::size_t d = 0; d < gradient.size(); ++d) {
    gradient[d] = double{gradients_[0].input[d]} + gradients_[1].input[d];
  }
}

}  // namespace ovde
