// The network of an actor and its target network, with their passes over the two fixed halves of a
// batch. What its outputs mean is the actor's affair.
#pragma once

#include <array>
#include <cstdint>

#include "agent/learner_options.h"
#include "math/team.h"
#include "nn/adam.h"
#include "nn/mlp.h"

namespace ovde {

class ActorNetwork {
 public:
  // target_policy: forward_next() runs the target network, otherwise the network itself.
  ActorNetwork(const LearnerOptions& options, int outputs, bool target_policy);

  // At s, and at s': (outputs x batch).
  const Batch& forward(const Batch& observation, int half);
  const Batch& forward_next(const Batch& next_observation, int half);
  const Batch& output() const { return activations_.output(); }
  const Batch& next_output() const { return next_activations_.output(); }

  // From the gradient of output(), which the caller puts here, to that of the parameters.
  Batch& output_gradient() { return deltas_.output(); }
  void backward(const Batch& observation, int half);

  // Step number `step` (from 1) of Adam along the gradients of both halves, and of the target
  // network.
  void step(std::uint64_t step, Team& team);

  const MlpShape& shape() const { return shape_; }
  const Trained& trained() const { return net_; }
  // After writing into it call restored().
  Trained& trained() { return net_; }
  void restored();

  // Multiply-adds, counted as two, of the matrix products of one forward(), and of one backward().
  double forward_flop() const;
  double backward_flop() const;

 private:
  MlpShape shape_;
  AdamOptions adam_;
  float polyak_;
  bool target_policy_;

  Trained net_;
  Mlp online_, target_;
  Activations activations_, next_activations_;
  Deltas deltas_;
  struct Half {
    Buffer gradient;
    GradientScratch scratch;
  };
  std::array<Half, 2> halves_;
};

}  // namespace ovde
