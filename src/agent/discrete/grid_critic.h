// A Q-network over a grid of actions: N quantiles of the return for each of them, at a state. The
// learner has two; each owns all it works on, so that two threads may work on one each.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "agent/discrete/action_head.h"
#include "agent/learning.h"
#include "nn/adam.h"
#include "nn/mlp.h"

namespace ovde {

// Its output number action * N + i is quantile number i of the action's return.
MlpShape grid_critic_shape(const LearnerOptions& options, int actions);

class GridCritic {
 public:
  GridCritic(const LearnerOptions& options, int actions, int k);

  // The mean of each action's quantiles at s': (actions x batch).
  const Batch& next_means(const Batch& next_observation);

  // What the target network says at s' of one action for each sample: (N x batch).
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

  // Multiply-adds, counted as two, of the products of all three steps.
  double flop() const;

 private:
  void forward_hidden(const Mlp& trunk, std::span<const float> parameters,
                      const Batch& observation);

  int quantiles_, actions_;
  AdamOptions adam_;
  float polyak_;
  std::vector<float> fractions_;

  MlpShape shape_;  // of the whole network
  MlpShape trunk_;  // of all but its output layer: the same places in the same buffer
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

}  // namespace ovde
