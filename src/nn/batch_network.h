// A network trained on batches, with its target network and optimiser. Each pass covers one of the
// two fixed halves of a batch. Knows nothing of the meaning of its outputs.
#pragma once

#include <array>
#include <cstdint>

#include "base/team.h"
#include "nn/adam.h"
#include "nn/mlp.h"

namespace ovde {

class BatchNetwork {
 public:
  // by_target: second_pass() uses the target network, otherwise the network itself. Parameters are
  // zero at first.
  BatchNetwork(const MlpShape& shape, int batch, bool by_target);

  // The outputs (outputs x batch). forward() keeps its activations for backward(); second_pass()
  // does not overwrite them.
  const Batch& forward(const Batch& input, int half);
  const Batch& second_pass(const Batch& input, int half);
  const Batch& output() const { return activations_.output(); }

  // Computes the gradient of the parameters from the gradient of output(), which the caller writes
  // to output_gradient().
  Batch& output_gradient() { return deltas_.output(); }
  void backward(const Batch& input, int half);

  // Step number `step` (from 1) of Adam with the gradients of both halves, then target +=
  // polyak * (parameters - target).
  void step(const AdamOptions& adam, std::uint64_t step, float polyak, Team& team);

  const MlpShape& shape() const { return shape_; }
  // Call restored() after writing to it.
  Trained& trained() { return net_; }
  const Trained& trained() const { return net_; }
  void restored();

  // Floating-point operations of the matrix products of one forward() and one backward(), both
  // halves.
  double forward_flop() const;
  double backward_flop() const;

 private:
  MlpShape shape_;
  bool by_target_;
  Trained net_;
  Mlp online_, target_;
  Activations activations_, second_activations_;
  Deltas deltas_;
  struct Half {
    Buffer gradient;
    GradientScratch scratch;
  };
  std::array<Half, 2> halves_;
};

}  // namespace ovde
