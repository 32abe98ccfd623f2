// A network that learns from batches, with its target network and its optimiser: mlp_network.h or
// residual_network.h. Knows nothing of the meaning of its outputs.
#pragma once

#include <cstdint>
#include <span>

#include "base/team.h"
#include "nn/adam.h"
#include "nn/mlp.h"

namespace ovde {

// Two batches of inputs of equal size, such as s and s' of the same transitions. A network with
// batch norm sees both in one batch, so that they share its statistics.
struct BatchPair {
  const Batch &first, &second;
};

// How a network is used.
struct NetworkUse {
  // The network of second_pass(): this one or its target network, both as in acting, or the target
  // network as in training.
  enum class Second { network, target, target_in_training };

  int batch = 0;
  Second second = Second::target;
  // Pieces of a batch that may be computed side by side: 1 or 2.
  int pieces = 2;
  // input_gradient() is that of inputs first_input .. first_input + inputs - 1.
  int first_input = 0, inputs = 0;
};

class Network {
 public:
  virtual ~Network() = default;

  // The outputs at input.first (outputs x batch) as in training. They and the activations stay for
  // backward(); second_pass() does not overwrite them, evaluate() does.
  virtual const Batch& forward(const BatchPair& input, Team& team) = 0;
  virtual const Batch& output() const = 0;
  // Computes the gradient of the parameters from that of output(), which the caller writes to
  // output_gradient().
  virtual Batch& output_gradient() = 0;
  virtual void backward(const BatchPair& input, Team& team) = 0;
  // Step number `step` (from 1) of Adam with that gradient, then target += polyak * (parameters -
  // target).
  virtual void step(const AdamOptions& adam, std::uint64_t step, float polyak, Team& team) = 0;

  // The outputs of the second network at input.second.
  virtual const Batch& second_pass(const BatchPair& input, Team& team) = 0;

  // The outputs as in acting, and the gradient of the chosen inputs, given that of the outputs in
  // output_gradient(). Different blocks may be computed side by side.
  virtual const Batch& evaluate(const Batch& input, Blocks blocks) = 0;
  virtual const Batch& input_gradient(Blocks blocks) = 0;
  // The same for the gradient share (1 x batch) * d mean of the outputs.
  virtual const Batch& input_gradient_of_mean(const Batch& share, Blocks blocks) = 0;

  // Call restored() after writing to it, or acting_restored() if only acting_parameters() will be
  // used.
  virtual Trained& trained() = 0;
  virtual void restored() = 0;
  virtual void acting_restored() = 0;

  // The network as in acting, for Mlp and SinglePass.
  virtual const MlpShape& acting_shape() const = 0;
  virtual std::span<const float> acting_parameters() const = 0;

  // Floating-point operations of the matrix products of each pass, and of the three that learning
  // takes.
  virtual double forward_flop() const = 0;
  virtual double second_flop() const = 0;
  virtual double backward_flop() const = 0;
  double learning_flop() const { return forward_flop() + second_flop() + backward_flop(); }
  virtual double evaluation_flop() const = 0;
  virtual double input_gradient_flop(bool of_mean) const = 0;
};

}  // namespace ovde
