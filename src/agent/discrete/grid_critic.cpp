#include "agent/discrete/grid_critic.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "agent/critic/loss.h"

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

MlpShape trunk_shape(const LearnerOptions& options) {
  const std::vector<int>& hidden = options.network.hidden;
  return {options.observation_size, {hidden.begin(), hidden.end() - 1}, hidden.back()};
}

void rectify(Batch& batch) {
  over_rows(batch.features(), all_blocks(batch), [&](int b, int f, int v) {
    float* x = batch.row(b, f) + v;
    store(x, relu(load(x)));
  });
}

}  // namespace

// ---- the output layer

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

// ---- learning

MlpShape grid_critic_shape(const LearnerOptions& options, int actions) {
  return {options.observation_size, options.network.hidden, actions * options.critic.quantiles};
}

GridCritic::GridCritic(const LearnerOptions& options, int actions, int k)
    : quantiles_(options.critic.quantiles),
      actions_(actions),
      adam_(options.train.adam),
      polyak_(options.train.polyak),
      fractions_(midpoints(options.critic.quantiles)),
      shape_(grid_critic_shape(options, actions)),
      trunk_(trunk_shape(options)),
      net_(shape_.size()),
      online_(trunk_, Mlp::Use::forward_and_backward),
      target_(trunk_, Mlp::Use::forward),
      activations_(trunk_, options.train.batch),
      deltas_(trunk_, options.train.batch),
      head_(shape_, options.critic.quantiles, options.train.batch),
      gradient_(shape_.size()),
      scratch_(trunk_.widest(), options.train.batch),
      values_(options.critic.quantiles, options.train.batch),
      value_gradient_(options.critic.quantiles, options.train.batch),
      target_values_(options.critic.quantiles, options.train.batch),
      mean_weights_(actions, options.network.hidden.back()),
      mean_rows_(static_cast<std::size_t>(actions) * shape_.layer(shape_.layers() - 1).stride),
      mean_bias_(round_up(actions, kRows)),
      means_(actions, options.train.batch) {
  initialise_pair(options.network.targets, 1 + static_cast<std::uint32_t>(k), net_,
                  [&](std::uint32_t number, std::span<float> parameters) {
                    initialise(shape_, options.seed, number, kCriticOutputRange, parameters,
                               options.network.init);
                  });
  restored();
}

void GridCritic::forward_hidden(const Mlp& trunk, std::span<const float> parameters,
                                const Batch& observation) {
  trunk.forward(parameters, observation, activations_, all_blocks(observation));
  rectify(activations_.output());
}

const Batch& GridCritic::next_means(const Batch& next_observation) {
  forward_hidden(online_, net_.parameters, next_observation);
  product_forward(mean_weights_, mean_bias_.data(), Activation::none, activations_.output(), means_,
                  all_blocks(means_));
  return means_;
}

const Batch& GridCritic::target_values(const Batch& next_observation,
                                       std::span<const int> actions) {
  forward_hidden(target_, net_.target, next_observation);
  head_.forward(net_.target, activations_.output(), actions, target_values_);
  return target_values_;
}

double GridCritic::learn(const Batch& observation, std::span<const int> actions,
                         const Batch& targets, const Batch& weight, std::uint64_t update) {
  const Blocks blocks = all_blocks(observation);
  forward_hidden(online_, net_.parameters, observation);
  head_.forward(net_.parameters, activations_.output(), actions, values_);
  const double loss =
      quantile_huber_loss(targets, values_, fractions_, weight, value_gradient_, blocks);

  head_.backward(net_.parameters, actions, value_gradient_, gradient_, deltas_.output());
  online_.backward(observation, activations_, deltas_, blocks, gradient_, scratch_);
  adam_step(adam_.at(update), update + 1, gradient_, {}, polyak_, 0, gradient_.size(), net_);
  restored();
  return loss;
}

void GridCritic::restored() {
  online_.pack(net_.parameters);
  target_.pack(net_.target);
  mean_layer(shape_, net_.parameters, quantiles_, mean_rows_.data(), mean_bias_.data());
  mean_weights_.pack(mean_rows_.data(), shape_.layer(shape_.layers() - 1).stride);
}

double GridCritic::flop() const {
  const double trunk = trunk_.products(), width = trunk_.outputs();
  // forward passes at s' of both networks and at s, backward pass; means of all actions; output
  // layer of one action: both networks forward, back to its weights and to the hidden layer
  return 2.0 * values_.samples() *
         (3 * trunk + trunk + trunk_.products(1) + width * actions_ + 4 * width * quantiles_);
}

// ---- acting

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

void mean_network(const MlpShape& shape, std::span<const float> parameters,
                  const MlpShape& mean_shape, std::span<float> mean_parameters) {
  // the other layers have the same offsets in both buffers
  const auto& last = mean_shape.layer(mean_shape.layers() - 1);
  std::copy_n(parameters.begin(), last.weights, mean_parameters.begin());
  mean_layer(shape, parameters, shape.outputs() / mean_shape.outputs(),
             mean_parameters.data() + last.weights, mean_parameters.data() + last.bias);
}

GreedyPass::GreedyPass(const MlpShape& critic_shape, const ActionGrid& grid, int quantiles)
    : critic_shape_(critic_shape),
      mean_shape_(mean_shape(critic_shape, quantiles)),
      grid_(grid),
      mean_parameters_(mean_shape_.size()),
      pass_{SinglePass(mean_shape_), SinglePass(mean_shape_)} {}

void GreedyPass::load(std::span<const float> first, std::span<const float> second) {
  for (int k = 0; k < 2; ++k) {
    mean_network(critic_shape_, k == 0 ? first : second, mean_shape_, mean_parameters_);
    pass_[k].load(mean_parameters_);
  }
}

void GreedyPass::act(std::span<const double> observation, std::span<double> action) {
  std::ranges::transform(observation, input().begin(),
                         [](double x) { return static_cast<float>(x); });
  act(action);
}

void GreedyPass::act(std::span<double> action) {
  std::ranges::copy(pass_[0].input(), pass_[1].input().begin());
  const auto first = pass_[0].forward(), second = pass_[1].forward();
  int best = 0;
  for (int a = 1; a < grid_.actions(); ++a) {
    if (first[a] + second[a] > first[best] + second[best]) best = a;
  }
  grid_.action(best, action);
  // comparisons with NaN are false, which would choose the first action
  if (std::isnan(first[best] + second[best]))
    std::ranges::fill(action, std::numeric_limits<double>::quiet_NaN());
}

}  // namespace ovde
