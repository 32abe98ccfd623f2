#include "agent/critic/iqn_critic.h"

#include <algorithm>

#include "agent/critic/quantile_loss.h"

namespace ovde {

IqnShape iqn_critic_shape(const LearnerOptions& options) {
  return {options.observation_size + options.action_size, options.hidden};
}

IqnCritic::IqnCritic(const LearnerOptions& options, int k)
    : shape_(iqn_critic_shape(options)),
      seed_(options.seed),
      adam_(options.adam),
      net_(shape_.size()),
      online_(shape_, Mlp::Use::forward_and_backward, options.observation_size,
              options.action_size),
      target_(shape_, Mlp::Use::forward),
      fractions_(options.quantiles, options.batch),
      target_fractions_(options.quantiles, options.batch),
      activations_(shape_, options.quantiles, Mlp::Use::forward_and_backward),
      target_activations_(shape_, options.quantiles, Mlp::Use::forward),
      deltas_(shape_, options.quantiles),
      values_(options.quantiles, options.batch),
      target_values_(options.quantiles, options.batch),
      value_gradient_(options.quantiles, options.batch),
      gradient_(shape_.size()),
      mean_(1, options.batch),
      action_gradient_(options.action_size, options.batch),
      chosen_gradient_(options.action_size, options.batch) {
  initialise(shape_, options.seed, 1 + static_cast<std::uint32_t>(k), net_.parameters);
  net_.target = net_.parameters;
  restored();
}

const Batch& IqnCritic::target_values(const Batch& next_state_action, std::uint64_t update) {
  draw_fractions(seed_, update, FractionsFor::target, target_fractions_);
  for (int b = 0; b < values_.blocks(); ++b) {
    target_.forward(net_.target, next_state_action, target_fractions_.midpoint, b,
                    target_activations_, target_values_);
  }
  return target_values_;
}

double IqnCritic::learn(const Batch& state_action, const Batch& targets, const Batch& weight,
                        float polyak, std::uint64_t update) {
  draw_fractions(seed_, update, FractionsFor::prediction, fractions_);
  std::ranges::fill(gradient_, 0.0f);
  double loss = 0;
  for (int b = 0; b < values_.blocks(); ++b) {
    online_.forward(net_.parameters, state_action, fractions_.midpoint, b, activations_, values_);
    loss += quantile_huber_loss(targets, target_fractions_.weight, values_, fractions_.midpoint,
                                weight, value_gradient_, {b, b + 1});
    online_.backward(net_.parameters, value_gradient_, b, activations_, deltas_, gradient_);
  }
  adam_step(adam_, update + 1, gradient_, {}, polyak, 0, gradient_.size(), net_);
  restored();
  return loss;
}

// The way back follows at once, block by block, before it is known which critic is the smaller:
// what it needs would be too much to keep for the whole batch.
void IqnCritic::evaluate(const Batch& state_action, bool differentiate, std::uint64_t update) {
  draw_fractions(seed_, update, FractionsFor::policy, fractions_);
  for (int b = 0; b < values_.blocks(); ++b) {
    online_.forward(net_.parameters, state_action, fractions_.midpoint, b, activations_, values_);
    average(b);
    if (differentiate)
      online_.backward_to_input(net_.parameters, value_gradient_, b, activations_, deltas_,
                                action_gradient_);
  }
}

// The mean of a block's values by the widths of their intervals, and its gradient.
void IqnCritic::average(int block) {
  const float share = 1.0f / static_cast<float>(values_.features());
  for (int v = 0; v < kLanes; v += kVector) {
    Vector sum{};
    for (int i = 0; i < values_.features(); ++i) {
      const Vector width = load(fractions_.weight.row(block, i) + v) * share;
      store(value_gradient_.row(block, i) + v, width);
      sum += width * load(values_.row(block, i) + v);
    }
    store(mean_.row(block, 0) + v, sum);
  }
}

const Batch& IqnCritic::action_gradient(const Batch& chosen, Blocks blocks) {
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int d = 0; d < action_gradient_.features(); ++d) {
      for (int v = 0; v < kLanes; v += kVector) {
        const auto counts = load(chosen.row(b, 0) + v) != 0;
        store(chosen_gradient_.row(b, d) + v,
              counts ? load(action_gradient_.row(b, d) + v) : Vector{});
      }
    }
  }
  return chosen_gradient_;
}

void IqnCritic::restored() {
  online_.pack(net_.parameters);
  target_.pack(net_.target);
}

// Forward: target and current network; gradients of the weights and the way back between them.
double IqnCritic::learning_flop() const {
  const int n = values_.features();
  return 2.0 * values_.samples() * (3 * shape_.products(n) + shape_.products_back(n));
}

double IqnCritic::evaluation_flop() const {
  return 2.0 * values_.samples() * shape_.products(values_.features());
}

double IqnCritic::action_gradient_flop() const {
  const double first = double(action_gradient_.features()) * shape_.features(0).outputs;
  return 2.0 * values_.samples() * (shape_.products_back(values_.features()) + first);
}

}  // namespace ovde
