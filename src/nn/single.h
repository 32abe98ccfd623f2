// A network evaluated for one input at a time: what acting needs. It keeps a copy of the weights in
// tiles of outputs, laid out in the order in which both directions read them: such a pass is as
// fast as the cache delivers the weights, and skipping the hidden units that are off would gain
// nothing.
#pragma once

#include <span>
#include <vector>

#include "nn/mlp.h"

namespace ovde {

class SinglePass {
 public:
  SinglePass() = default;
  explicit SinglePass(const MlpShape& shape);

  // Takes over the parameters; call it again when they have changed.
  void load(std::span<const float> parameters);

  int inputs() const { return shape_.inputs(); }
  int outputs() const { return shape_.outputs(); }

  // Where the caller puts the input before forward().
  std::span<float> input() {
    return {layers_.front().input.data(), static_cast<std::size_t>(inputs())};
  }

  // Returns the output; it stays valid, and backward() refers to it, until the next call.
  std::span<const float> forward();

  // The gradient of inputs first .. first + input_gradient.size() - 1, given that of the output.
  void backward(std::span<const float> output_gradient, int first, std::span<float> input_gradient);

 private:
  struct Layer {
    int inputs, outputs, tiles;
    Buffer weights;  // [tile of outputs][input][kTile]
    Buffer bias;     // [tile][kTile]
    Buffer input;    // what the layer is given
  };

  MlpShape shape_;
  std::vector<Layer> layers_;
  Buffer output_, delta_;
  Buffer partial_;  // sums of the backward pass, one vector for each input
};

}  // namespace ovde
