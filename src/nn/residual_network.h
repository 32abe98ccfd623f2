// A residual network (residual.h) that learns from batches. Its running statistics move in step().
// Target networks have their own parameters but no statistics: as in training they use those of the
// batch, as in acting the network's running ones.
#pragma once

#include <cstdint>
#include <span>

#include "nn/network.h"
#include "nn/residual.h"

namespace ovde {

class ResidualNetwork final : public Network {
 public:
  // Parameters are zero at first.
  ResidualNetwork(const ResidualShape& shape, const NetworkUse& use);

  const Batch& forward(const BatchPair& input, Team& team) override;
  const Batch& output() const override { return trace_.head_output; }
  Batch& output_gradient() override { return acting_deltas_.output(); }
  void backward(const BatchPair& input, Team& team) override;
  void step(const AdamOptions& adam, std::uint64_t step, float polyak, Team& team) override;
  const Batch& second_pass(const BatchPair& input, Team& team) override;
  const Batch& evaluate(const Batch& input, Blocks blocks) override;
  const Batch& input_gradient(Blocks blocks) override;
  const Batch& input_gradient_of_mean(const Batch& share, Blocks blocks) override;

  Trained& trained() override { return net_; }
  void restored() override;
  void acting_restored() override { renew(kActing); }
  const MlpShape& acting_shape() const override { return acting_shape_; }
  std::span<const float> acting_parameters() const override { return acting_parameters_; }

  double forward_flop() const override;
  double second_flop() const override;
  double backward_flop() const override { return 2 * forward_flop(); }
  double evaluation_flop() const override { return 2.0 * use_.batch * shape_.products(); }
  double input_gradient_flop(bool of_mean) const override;

 private:
  enum Part { kNetwork, kActing, kTarget, kParts };
  void renew(int part);
  bool target_trains() const { return use_.second == NetworkUse::Second::target_in_training; }

  ResidualShape shape_;
  MlpShape acting_shape_;
  NetworkUse use_;
  Trained net_;
  Residual online_, target_;
  ResidualTrace trace_, target_trace_;
  ResidualDeltas deltas_;

  // the network and, where second_pass() asks for it, the target network as in acting
  Mlp acting_, acting_target_;
  Buffer acting_parameters_, acting_target_parameters_;
  Activations activations_, second_activations_;
  Deltas acting_deltas_;
  Batch input_gradient_;
};

}  // namespace ovde
