// A Q-network over a grid of actions: N quantiles of the return for each action at a state. On
// batches (GridCritic), and two of them at one observation, for acting (GreedyPass).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "agent/discrete/action_grid.h"
#include "agent/learning.h"
#include "nn/single.h"

namespace ovde {

// ---- learning

// The output layer for one action of each sample: a product with the N rows of that action, forward
// and back. The cost does not grow with the number of actions.
class ActionHead {
 public:
  ActionHead(const MlpShape& shape, int quantiles, int samples);

  // values (N x batch) at the action of each sample, from the last hidden layer (after its ReLU).
  void forward(std::span<const float> parameters, const Batch& hidden, std::span<const int> actions,
               Batch& values);

  // Given the gradient of the values at the last forward(): the gradient of the layer's parameters,
  // and of the last hidden layer before its ReLU.
  void backward(std::span<const float> parameters, std::span<const int> actions,
                const Batch& value_gradient, std::span<float> gradient, Batch& hidden_gradient);

 private:
  std::size_t row(int action, int quantile) const {
    return static_cast<std::size_t>(action) * quantiles_ + quantile;
  }

  MlpShape::Layer layer_;
  int quantiles_;
  Buffer hidden_;  // sample after sample: [sample][stride]
  Buffer delta_;   // [stride]
};

// Output number action * N + i is quantile number i of the action's return.
MlpShape grid_critic_shape(const LearnerOptions& options, int actions);

// Each critic owns its memory, so that two threads may work on one each.
class GridCritic {
 public:
  GridCritic(const LearnerOptions& options, int actions, int k);

  // The mean of each action's quantiles at s': (actions x batch).
  const Batch& next_means(const Batch& next_observation);

  // The target network's values at s' of one action for each sample: (N x batch).
  const Batch& target_values(const Batch& next_observation, std::span<const int> actions);
  const Batch& target_values() const { return target_values_; }

  // One step of Adam on the loss at (s, a), summed over samples with `weight` (1 x batch); then
  // target network += polyak * (network - target network). Returns the loss.
  double learn(const Batch& observation, std::span<const int> actions, const Batch& targets,
               const Batch& weight, std::uint64_t update);

  const MlpShape& shape() const { return shape_; }
  const Trained& network() const { return net_; }
  // After writing into it call restored().
  Trained& network() { return net_; }
  void restored();

  double flop() const;  // an update's, as Agent::flop_per_update()

 private:
  void forward_hidden(const Mlp& trunk, std::span<const float> parameters,
                      const Batch& observation);

  int quantiles_, actions_;
  AdamOptions adam_;
  float polyak_;
  std::vector<float> fractions_;

  MlpShape shape_;  // the whole network
  MlpShape trunk_;  // the network without its output layer, in the same buffer
  Trained net_;
  Mlp online_, target_;  // the trunks
  Activations activations_;
  Deltas deltas_;
  ActionHead head_;
  Buffer gradient_;
  GradientScratch scratch_;
  Batch values_, value_gradient_, target_values_;  // (N x batch)

  // the output layer's mean over the quantiles
  Panels mean_weights_;
  Buffer mean_rows_, mean_bias_;
  Batch means_;
};

// ---- acting

// The output layer whose outputs are the means of each action's N outputs: its weights (actions x
// stride) and biases (actions). `parameters`: of the whole network.
void mean_layer(const MlpShape& shape, std::span<const float> parameters, int quantiles,
                float* weights, float* bias);

// The shape and the parameters of the network that ends in that layer.
inline MlpShape mean_shape(const MlpShape& shape, int quantiles) {
  return shape.with_outputs(shape.outputs() / quantiles);
}
void mean_network(const MlpShape& shape, std::span<const float> parameters,
                  const MlpShape& mean_shape, std::span<float> mean_parameters);

// The greedy policy of two such networks at one observation: the action whose mean over quantiles
// and critics is largest.
class GreedyPass {
 public:
  // critic_shape: grid.actions() times `quantiles` outputs.
  GreedyPass(const MlpShape& critic_shape, const ActionGrid& grid, int quantiles);

  // Copies the critics' parameters.
  void load(std::span<const float> first, std::span<const float> second);

  int observation_size() const { return critic_shape_.inputs(); }
  int action_size() const { return grid_.dimensions(); }

  // Where the caller writes the observation before act().
  std::span<float> input() { return pass_[0].input(); }

  // The best action, of equally good ones the first; NaN where the networks' values are.
  void act(std::span<double> action);
  void act(std::span<const double> observation, std::span<double> action);

 private:
  MlpShape critic_shape_, mean_shape_;
  ActionGrid grid_;
  Buffer mean_parameters_;
  std::array<SinglePass, 2> pass_;
};

}  // namespace ovde
