// A network evaluated for one input at a time, straight from its flat parameter buffer: what acting
// needs. Half of the hidden units are usually off; the backward pass skips them.
#pragma once

#include <span>
#include <vector>

#include "nn/mlp.h"

namespace ovde {

class SinglePass {
 public:
  SinglePass() = default;
  explicit SinglePass(const MlpShape& shape);

  // Where the caller puts the input before forward().
  std::span<float> input() {
    return {activations_.front().data(), static_cast<std::size_t>(shape_.inputs())};
  }

  // Returns the output; it stays valid, and backward() refers to it, until the next call.
  std::span<const float> forward(std::span<const float> parameters);

  // The gradient of inputs first .. first + input_gradient.size() - 1, given that of the output.
  void backward(std::span<const float> parameters, std::span<const float> output_gradient,
                int first, std::span<float> input_gradient);

 private:
  MlpShape shape_;
  std::vector<Buffer>
      activations_;  // input, hidden, output; padded with zeros like the weights' rows
  Buffer delta_, next_delta_;
  std::vector<int> active_;
};

}  // namespace ovde
