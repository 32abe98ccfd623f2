#include "agent/critic/iqn_critic.h"

#include <algorithm>

#include "agent/critic/loss.h"

namespace ovde {

// ---- fractions

void draw_fractions(std::uint64_t seed, std::uint64_t update, FractionsFor purpose,
                    Fractions& fractions) {
  fill_batch_uniform(seed, Stream::fractions, fractions_number(update, purpose), fractions.weight,
                     all_blocks(fractions.weight));
  cut_interval(fractions);
}

void cut_interval(Fractions& fractions) {
  const int count = fractions.weight.features();
  const float share = 1.0f / static_cast<float>(count);
  over_samples(all_blocks(fractions.weight), [&](int b, int v) {
    Vector total{};
    for (int i = 0; i < count; ++i) total += load(fractions.weight.row(b, i) + v) + kNarrowest;
    const Vector scale = static_cast<float>(count) / total;
    Vector before{};  // the weights of the intervals below
    for (int i = 0; i < count; ++i) {
      float* weight = fractions.weight.row(b, i) + v;
      const Vector w = (load(weight) + kNarrowest) * scale;
      store(weight, w);
      store(fractions.midpoint.row(b, i) + v, (before + 0.5f * w) * share);
      before += w;
    }
  });
}

// ---- learning

IqnShape iqn_critic_shape(const LearnerOptions& options) {
  return {options.observation_size + options.action_size, options.network.hidden,
          options.critic.norm};
}

IqnCritic::IqnCritic(const LearnerOptions& options, int k)
    : shape_(iqn_critic_shape(options)),
      random_(options.critic.head == CriticHead::iqn),
      seed_(options.seed),
      weights_(options.critic.weights),
      adam_(options.train.adam),
      net_(shape_.size()),
      online_(shape_, Mlp::Use::forward_and_backward, options.observation_size,
              options.action_size),
      target_(shape_, Mlp::Use::forward),
      fractions_(options.critic.quantiles, options.train.batch),
      target_fractions_(options.critic.quantiles, options.train.batch),
      activations_(shape_, options.critic.quantiles, Mlp::Use::forward_and_backward),
      target_activations_(shape_, options.critic.quantiles, Mlp::Use::forward),
      deltas_(shape_, options.critic.quantiles),
      values_(options.critic.quantiles, options.train.batch),
      target_values_(options.critic.quantiles, options.train.batch),
      value_gradient_(options.critic.quantiles, options.train.batch),
      gradient_(shape_.size()),
      mean_(1, options.train.batch),
      action_gradient_(options.action_size, options.train.batch),
      chosen_gradient_(options.action_size, options.train.batch) {
  initialise_pair(options.network.targets, 1 + static_cast<std::uint32_t>(k), net_,
                  [&](std::uint32_t number, std::span<float> parameters) {
                    initialise(shape_, options.seed, number, parameters, options.network.init,
                               kCriticOutputRange);
                  });
  restored();
}

void IqnCritic::choose_fractions(std::uint64_t update, FractionsFor purpose,
                                 Fractions& fractions) const {
  if (random_) {
    draw_fractions(seed_, update, purpose, fractions);
  } else {
    for (int i = 0; i < fractions.weight.features(); ++i) {
      for (int b = 0; b < fractions.weight.blocks(); ++b)
        std::fill_n(fractions.weight.row(b, i), kLanes, kEqualWidths);
    }
    cut_interval(fractions);
  }
}

const Batch& IqnCritic::target_values(const BatchPair& transitions, std::uint64_t update) {
  choose_fractions(update, FractionsFor::target, target_fractions_);
  for (int b = 0; b < values_.blocks(); ++b) {
    target_.forward(net_.target, transitions.second, target_fractions_.midpoint, b,
                    target_activations_, target_values_);
  }
  return target_values_;
}

double IqnCritic::learn(const BatchPair& transitions, const Batch& targets, const Batch& weight,
                        float polyak, std::uint64_t update) {
  choose_fractions(update, FractionsFor::prediction, fractions_);
  std::ranges::fill(gradient_, 0.0f);
  double loss = 0;
  for (int b = 0; b < values_.blocks(); ++b) {
    online_.forward(net_.parameters, transitions.first, fractions_.midpoint, b, activations_,
                    values_);
    loss += quantile_huber_loss(targets, target_fractions_.weight, values_, fractions_.midpoint,
                                weight, value_gradient_, {b, b + 1});
    online_.backward(net_.parameters, value_gradient_, b, activations_, deltas_, gradient_);
  }
  adam_step(adam_.at(update), update + 1, gradient_, {}, polyak, 0, gradient_.size(), net_);
  restored();
  return loss;
}

// The backward pass follows at once, block by block, before it is known which critic is the
// smaller: the activations of the whole batch would take too much memory.
void IqnCritic::evaluate(const Batch& state_action, bool differentiate, std::uint64_t update) {
  choose_fractions(update, FractionsFor::policy, fractions_);
  for (int b = 0; b < values_.blocks(); ++b) {
    online_.forward(net_.parameters, state_action, fractions_.midpoint, b, activations_, values_);
    average(b);
    if (differentiate)
      online_.backward_to_input(net_.parameters, value_gradient_, b, activations_, deltas_,
                                action_gradient_);
  }
}

// The weighted mean of a block's values, and its gradient.
void IqnCritic::average(int block) {
  for (int v = 0; v < kLanes; v += kVector) {
    Vector sum{};
    for (int i = 0; i < values_.features(); ++i) {
      const Vector counts = share(block, i, v);
      store(value_gradient_.row(block, i) + v, counts);
      sum += counts * load(values_.row(block, i) + v);
    }
    store(mean_.row(block, 0) + v, sum);
  }
}

// The weight of value i in the mean, for a vector of samples.
Vector IqnCritic::share(int block, int i, int v) const {
  const float equal = 1.0f / static_cast<float>(values_.features());
  return weights_ == QuantileWeights::equal ? splat(equal)
                                            : load(fractions_.weight.row(block, i) + v) * equal;
}

// Repeats the forward pass: the activations of the whole batch would take too much memory.
const Batch& IqnCritic::action_gradient_by_value(const Batch& state_action, const Batch& part) {
  for (int b = 0; b < values_.blocks(); ++b) {
    over_rows(values_.features(), {b, b + 1}, [&](int, int i, int v) {
      store(value_gradient_.row(b, i) + v, load(part.row(b, i) + v) * share(b, i, v));
    });
    online_.forward(net_.parameters, state_action, fractions_.midpoint, b, activations_, values_);
    online_.backward_to_input(net_.parameters, value_gradient_, b, activations_, deltas_,
                              action_gradient_);
  }
  return action_gradient_;
}

const Batch& IqnCritic::action_gradient(const Batch& part, Blocks blocks) {
  over_rows(action_gradient_.features(), blocks, [&](int b, int d, int v) {
    const Vector share = load(part.row(b, 0) + v);
    store(chosen_gradient_.row(b, d) + v,
          share != 0 ? share * load(action_gradient_.row(b, d) + v) : Vector{});
  });
  return chosen_gradient_;
}

void IqnCritic::restored() {
  online_.pack(net_.parameters);
  target_.pack(net_.target);
}

// Forward passes of both networks, gradients of the weights, backward pass.
double IqnCritic::learning_flop() const {
  const int n = values_.features();
  return 2.0 * values_.samples() * (3 * shape_.products(n) + shape_.products_back(n));
}

double IqnCritic::evaluation_flop() const {
  return 2.0 * values_.samples() * shape_.products(values_.features());
}

double IqnCritic::action_gradient_flop(bool by_value) const {
  const double first = double(action_gradient_.features()) * shape_.features(0).outputs;
  return 2.0 * values_.samples() * (shape_.products_back(values_.features()) + first) +
         (by_value ? evaluation_flop() : 0);
}

// ---- acting

IqnCriticPair::IqnCriticPair(const LearnerOptions& options)
    : observation_size_(options.observation_size),
      random_(options.critic.head == CriticHead::iqn),
      weights_(options.critic.weights),
      fractions_(options.critic.quantiles, 1),
      input_(options.observation_size + options.action_size, kLanes),
      midpoint_((options.critic.quantiles + kLanes - 1) / kLanes, kLanes),
      quantiles_(options.critic.quantiles) {
  quantiles_.form = options.critic.uncertainty;
  const IqnShape shape = iqn_critic_shape(options);
  const int actions = options.action_size, rows = midpoint_.features();
  for (Side& side : side_) {
    side.net = Iqn(shape, Mlp::Use::forward_and_backward, observation_size_, actions);
    side.activations = IqnActivations(shape, rows, Mlp::Use::forward_and_backward);
    side.deltas = IqnDeltas(shape, rows);
    side.values = side.value_gradient = Batch(rows, kLanes);
    side.input_gradient = Batch(actions, kLanes);
  }
}

void IqnCriticPair::load(std::span<const float> first, std::span<const float> second) {
  for (int k = 0; k < 2; ++k) {
    const auto& from = k == 0 ? first : second;
    side_[k].parameters.assign(from.begin(), from.end());
    side_[k].net.pack(from);
  }
}

const QuantilePair& IqnCriticPair::quantiles(std::span<const float> observation,
                                             std::span<const float> action, Random& random) {
  const int n = quantiles_.size();
  for (int i = 0; i < n; ++i)
    fractions_.weight.at(i, 0) = random_ ? static_cast<float>(random.uniform()) : kEqualWidths;
  cut_interval(fractions_);
  for (int i = 0; i < n; ++i) {
    midpoint_.at(i / kLanes, i % kLanes) = fractions_.midpoint.at(i, 0);
    if (weights_ == QuantileWeights::widths) quantiles_.weight[i] = fractions_.weight.at(i, 0);
  }
  for (int f = 0; f < input_.features(); ++f) {
    const float x = f < observation_size_ ? observation[f] : action[f - observation_size_];
    std::fill_n(input_.row(0, f), kLanes, x);
  }

  for_each_critic([&](int k) {
    Side& side = side_[k];
    side.net.forward(side.parameters, input_, midpoint_, 0, side.activations, side.values);
    for (int i = 0; i < n; ++i) quantiles_.critic[k][i] = side.values.at(i / kLanes, i % kLanes);
  });
  check_finite(quantiles_);
  return quantiles_;
}

void IqnCriticPair::action_gradient(const QuantilePair& quantile_gradient,
                                    std::span<double> gradient) {
  for_each_critic([&](int k) {
    Side& side = side_[k];
    for (int i = 0; i < quantile_gradient.size(); ++i) {
      side.value_gradient.at(i / kLanes, i % kLanes) =
          static_cast<float>(quantile_gradient.critic[k][i]);
    }
    side.net.backward_to_input(side.parameters, side.value_gradient, 0, side.activations,
                               side.deltas, side.input_gradient);
  });
  for (std::size_t d = 0; d < gradient.size(); ++d) {
    gradient[d] = 0;
    for (const Side& side : side_) {
      for (int lane = 0; lane < kLanes; ++lane)
        gradient[d] += side.input_gradient.at(static_cast<int>(d), lane);
    }
  }
}

}  // namespace ovde
