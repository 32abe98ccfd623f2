#include "agent/critic/quantile_critic.h"

#include <algorithm>

#include "agent/critic/loss.h"

namespace ovde {

QuantileCritic::QuantileCritic(const LearnerOptions& options, int k)
    : NetworkCritic(options, options.critic.quantiles, k),
      distributional_(options.distributional),
      fractions_(midpoints(options.critic.quantiles)),
      values_(&network_->output()) {}

const Batch& QuantileCritic::target_values(const BatchPair& transitions, std::uint64_t) {
  return network_->second_pass(transitions, alone_);
}

double QuantileCritic::learn(const BatchPair& transitions, const Batch& targets,
                             const Batch& weight, float polyak, std::uint64_t update) {
  const Blocks blocks = all_blocks(mean_);
  const Batch& z = network_->forward(transitions, alone_);
  Batch& gradient = network_->output_gradient();
  const double loss = distributional_
                          ? quantile_huber_loss(targets, z, fractions_, weight, gradient, blocks)
                          : squared_loss(targets, z, weight, gradient, blocks);
  step(transitions, polyak, update);
  return loss;
}

void QuantileCritic::evaluate(const Batch& state_action, bool, std::uint64_t) {
  const Blocks blocks = all_blocks(mean_);
  values_ = &network_->evaluate(state_action, blocks);
  const float scale = 1.0f / static_cast<float>(values().features());
  over_samples(blocks, [&](int b, int v) {
    Vector sum{};
    for (int i = 0; i < values().features(); ++i) sum += load(values().row(b, i) + v);
    store(mean_.row(b, 0) + v, sum * scale);
  });
}

const Batch& QuantileCritic::action_gradient(const Batch& share, Blocks blocks) {
  return network_->input_gradient_of_mean(share, blocks);
}

const Batch& QuantileCritic::action_gradient_by_value(const Batch&, const Batch& share) {
  Batch& gradient = network_->output_gradient();
  const float equal = 1.0f / static_cast<float>(gradient.features());
  over_rows(gradient.features(), all_blocks(gradient), [&](int b, int i, int v) {
    store(gradient.row(b, i) + v, load(share.row(b, i) + v) * equal);
  });
  return network_->input_gradient(all_blocks(mean_));
}

double QuantileCritic::action_gradient_flop(bool by_value) const {
  return network_->input_gradient_flop(!by_value);
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
