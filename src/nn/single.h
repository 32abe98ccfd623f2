// A network evaluated for one input at a time: what acting needs. Such a pass is as fast as the
// cache delivers the weights, so it reads as few of them as it can: it keeps a transposed copy in
// which the weights of one input lie side by side, and passes over the inputs that are zero, as
// many are after a ReLU. Both directions read the same rows of that copy.
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
    int inputs = 0;
    int stride = 0;  // outputs, padded with zeros
    Buffer weights;  // [input, padded to four][stride]
    Buffer bias;     // [stride]
    Buffer input;    // what the layer is given
    // of a hidden layer with a norm: its own two vectors, its sums normalised and their scale
    Buffer gain, shift, normal;
    float scale = 1;
    std::vector<int> active;  // which of these are not zero, in order: the first `actives`
    int actives = 0;
  };

  void normalise(Layer& layer, int outputs, float* y);
  void back_through_norm(const Layer& layer, int outputs);

  MlpShape shape_;
  std::vector<Layer> layers_;
  Buffer output_, delta_, next_delta_;
};

}  // namespace ovde
