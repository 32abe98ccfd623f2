#include "agent/critic/iqn_critic_pair.h"

#include <algorithm>

namespace ovde {

IqnCriticPair::IqnCriticPair(const IqnShape& shape, int observation_size, int quantiles)
    : observation_size_(observation_size),
      fractions_(quantiles, 1),
      input_(shape.inputs(), kLanes),
      midpoint_((quantiles + kLanes - 1) / kLanes, kLanes),
      quantiles_(quantiles) {
  const int actions = shape.inputs() - observation_size, rows = midpoint_.features();
  for (Side& side : side_) {
    side.net = Iqn(shape, Mlp::Use::forward_and_backward, observation_size, actions);
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
  for (int i = 0; i < n; ++i) fractions_.weight.at(i, 0) = static_cast<float>(random.uniform());
  cut_interval(fractions_);
  for (int i = 0; i < n; ++i) {
    midpoint_.at(i / kLanes, i % kLanes) = fractions_.midpoint.at(i, 0);
    quantiles_.weight[i] = fractions_.weight.at(i, 0);
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
