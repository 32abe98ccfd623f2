// A network that learns from batches, and its target network, with their passes over the two fixed
// halves of a batch. Knows nothing of what its outputs mean.
#pragma once

#include <array>
#include <cstdint>

#include "base/team.h"
#include "nn/adam.h"
#include "nn/mlp.h"

namespace ovde {

class BatchNetwork {
 public:
  // by_target: second_pass() is one of the target network, otherwise of the network itself. The
  // parameters are zero until someone writes them.
  BatchNetwork(const MlpShape& shape, int batch, bool by_target);

  // What the network puts out, remembered for backward(); and a second pass, which leaves that
  // alone: (outputs x batch).
  const Batch& forward(const Batch& input, int half);
  const Batch& second_pass(const Batch& input, int half);
  const Batch& output() const { return activations_.output(); }

  // From the gradient of output(), which the caller puts here, to that of the parameters.
  Batch& output_gradient() { return deltas_.output(); }
  void backward(const Batch& input, int half);

  // Step number `step` (from 1) of Adam along the gradients of both halves, then target network +=
  // polyak * (network - target network).
  void step(const AdamOptions& adam, std::uint64_t step, float polyak, Team& team);

  const MlpShape& shape() const { return shape_; }
  // After writing into it call restored().
  Trained& trained() { return net_; }
  const Trained& trained() const { return net_; }
  void restored();

  // Multiply-adds, counted as two, of the matrix products of one forward(), and of one backward().
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
