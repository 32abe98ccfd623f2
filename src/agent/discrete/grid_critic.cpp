#include "agent/discrete/grid_critic.h"

#include "agent/critic/quantile_loss.h"

namespace ovde {

namespace {

MlpShape trunk_shape(const LearnerOptions& options) {
  const std::vector<int>& hidden = options.hidden;
  return {options.observation_size, {hidden.begin(), hidden.end() - 1}, hidden.back()};
}

void rectify(Batch& batch) {
  for (int b = 0; b < batch.blocks(); ++b) {
    for (int f = 0; f < batch.features(); ++f) {
      for (int v = 0; v < kLanes; v += kVector) {
        const Vector x = load(batch.row(b, f) + v);
        store(batch.row(b, f) + v, x < Vector{} ? Vector{} : x);
      }
    }
  }
}

}  // namespace

MlpShape grid_critic_shape(const LearnerOptions& options, int actions) {
  return {options.observation_size, options.hidden, actions * options.quantiles};
}

GridCritic::GridCritic(const LearnerOptions& options, int actions, int k)
    : quantiles_(options.quantiles),
      actions_(actions),
      adam_(options.adam),
      polyak_(options.polyak),
      fractions_(midpoints(options.quantiles)),
      shape_(grid_critic_shape(options, actions)),
      trunk_(trunk_shape(options)),
      net_(shape_.size()),
      online_(trunk_, Mlp::Use::forward_and_backward),
      target_(trunk_, Mlp::Use::forward),
      activations_(trunk_, options.batch),
      deltas_(trunk_, options.batch),
      head_(shape_, options.quantiles, options.batch),
      gradient_(shape_.size()),
      scratch_(trunk_.widest(), options.batch),
      values_(options.quantiles, options.batch),
      value_gradient_(options.quantiles, options.batch),
      target_values_(options.quantiles, options.batch),
      mean_weights_(actions, options.hidden.back()),
      mean_rows_(static_cast<std::size_t>(actions) * shape_.layer(shape_.layers() - 1).stride),
      mean_bias_(round_up(actions, kRows)),
      means_(actions, options.batch) {
  initialise(shape_, options.seed, 1 + static_cast<std::uint32_t>(k), 3e-3f, net_.parameters);
  net_.target = net_.parameters;
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
  adam_step(adam_, update + 1, gradient_, {}, polyak_, 0, gradient_.size(), net_);
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
  // forward at s' of both networks and at s, and back; means of all actions; the output layer of
  // one action: both networks forward, and back to its weights and to the hidden layer
  return 2.0 * values_.samples() *
         (3 * trunk + trunk + trunk_.products(1) + width * actions_ + 4 * width * quantiles_);
}

}  // namespace ovde
