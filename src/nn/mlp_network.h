// An Mlp that learns from batches. Its passes may also be called piece by piece.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "nn/network.h"

namespace ovde {

class MlpNetwork final : public Network {
 public:
  // Parameters are zero at first.
  MlpNetwork(const MlpShape& shape, const NetworkUse& use);

  const Batch& forward(const BatchPair& input, Team& team) override;
  const Batch& output() const override { return activations_.output(); }
  Batch& output_gradient() override { return deltas_.output(); }
  void backward(const BatchPair& input, Team& team) override;
  void step(const AdamOptions& adam, std::uint64_t step, float polyak, Team& team) override;
  const Batch& second_pass(const BatchPair& input, Team& team) override;
  const Batch& evaluate(const Batch& input, Blocks blocks) override;
  const Batch& input_gradient(Blocks blocks) override;
  const Batch& input_gradient_of_mean(const Batch& share, Blocks blocks) override;

  // The same passes through one piece of the batch.
  const Batch& forward(const Batch& input, int piece);
  const Batch& second_pass(const Batch& input, int piece);
  void backward(const Batch& input, int piece);

  Trained& trained() override { return net_; }
  void restored() override;
  void acting_restored() override {}  // acts with the parameters themselves
  const MlpShape& acting_shape() const override { return shape_; }
  std::span<const float> acting_parameters() const override { return net_.parameters; }

  double forward_flop() const override;
  double second_flop() const override { return forward_flop(); }
  double backward_flop() const override;
  double evaluation_flop() const override { return forward_flop(); }
  double input_gradient_flop(bool of_mean) const override;

 private:
  Blocks blocks_of(int piece) const;
  bool has_target() const { return use_.second != NetworkUse::Second::network; }
  void pack_online();

  MlpShape shape_;
  NetworkUse use_;
  Trained net_;
  Mlp online_, target_;
  Activations activations_, second_activations_;
  Deltas deltas_;
  Batch input_gradient_;
  // d mean of the outputs / d last hidden layer: the last layer's weights averaged over the outputs
  Buffer mean_weights_;
  struct Piece {
    Buffer gradient;
    GradientScratch scratch;
  };
  std::array<Piece, 2> pieces_;  // the second is empty where there is one piece
};

}  // namespace ovde
