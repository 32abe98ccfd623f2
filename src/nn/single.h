// A network evaluated for one input at a time, for acting. Such a pass is limited by reading the
// weights from the cache, so it skips inputs that are zero, of which a ReLU leaves many: a
// transposed copy keeps the weights of one input side by side. Forward and backward pass read the
// same rows.
#pragma once

#include <span>
#include <vector>

#include "nn/mlp.h"

namespace ovde {

class SinglePass {
 public:
  explicit SinglePass(const MlpShape& shape);

  // Copies the parameters; call it after every change.
  void load(std::span<const float> parameters);

  int inputs() const { return shape_.inputs(); }
  int outputs() const { return shape_.outputs(); }

  // The caller writes the input here before forward().
  std::span<float> input() {
    return {layers_.front().input.data(), static_cast<std::size_t>(inputs())};
  }

  // Returns the output, which stays valid until the next call.
  std::span<const float> forward();

  // The gradient of inputs first .. first + input_gradient.size() - 1, given that of the output.
  void backward(std::span<const float> output_gradient, int first, std::span<float> input_gradient);

 private:
  struct Layer {
    int inputs = 0;
    int stride = 0;  // outputs, padded with zeros
    Buffer weights;  // [input, padded to four][stride]
    Buffer bias;     // [stride]
    Buffer input;
    // for normalised hidden layers: parameters, normalised sums and their scale
    Buffer gain, shift, normal;
    float scale = 1;
    Buffer added;             // output of a residual block before it is added
    std::vector<int> active;  // indices of non-zero inputs; the first `actives` are valid
    int actives = 0;
  };

  void normalise(Layer& layer, int outputs, float* y);
  void back_through_norm(const Layer& layer, int outputs);
  void end_block(int layer, float* y);
  void back_through_rms_norm();

  MlpShape shape_;
  std::vector<Layer> layers_;
  Buffer output_, delta_, next_delta_;
  Buffer block_delta_;  // gradient of the sum at the end of a residual block
};

}  // namespace ovde
