// Multi-layer perceptron with ReLU between its layers, over one flat parameter buffer that the
// caller owns; on request each hidden layer's sums are normalised (norm.h) before the ReLU, with a
// gain and a shift for each unit. Knows nothing of losses or of reinforcement learning.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ovde/random.h>
#include "nn/equations.h"
#include "nn/product.h"

namespace ovde {

// Where each layer's weights (outputs x inputs, row-major, rows padded with zeros to a multiple of
// 16) and biases lie in the flat buffer; behind them, where it is normalised, gains and shifts.
class MlpShape {
 public:
  struct Layer {
    int inputs, outputs, stride;
    std::size_t weights, bias, gain, shift;  // offsets
    bool operator==(const Layer&) const = default;
  };

  MlpShape() = default;
  MlpShape(int inputs, const std::vector<int>& hidden, int outputs, bool norm = false);

  int inputs() const { return layers_.front().inputs; }
  int outputs() const { return layers_.back().outputs; }
  int layers() const { return static_cast<int>(layers_.size()); }
  const Layer& layer(int index) const { return layers_[index]; }
  std::size_t size() const { return size_; }  // floats in the buffer, padding included
  bool norm() const { return norm_; }         // hidden layers are normalised
  int widest() const;
  bool operator==(const MlpShape&) const = default;
  double products(int first_layer = 0) const;  // multiply-adds of one sample from that layer on

 private:
  std::vector<Layer> layers_;
  std::size_t size_ = 0;
  bool norm_ = false;
};

// last: the range of the last layer where it has one of its own (Initialisation::base).
void initialise(const MlpShape& shape, std::uint64_t seed, std::uint32_t network, float last,
                std::span<float> parameters, Initialisation how = Initialisation::base);

// The same for the weights and biases of one layer of any network; `output`: it is the last.
void initialise_layer(const MlpShape::Layer& layer, Initialisation how, bool output, float last,
                      Random& random, std::span<float> parameters);

// What a forward pass leaves: what each layer put out, after its ReLU where it has one.
struct Activations {
  Activations() = default;
  Activations(const MlpShape& shape, int samples);
  Batch& output() { return layer.back(); }
  const Batch& output() const { return layer.back(); }
  std::vector<Batch> layer;
  // of hidden layers with a norm: what it left before the ReLU, and its scale (1 x samples)
  std::vector<Batch> normal, scale;
};

// Gradients with respect to the output and each hidden layer.
struct Deltas {
  Deltas() = default;
  Deltas(const MlpShape& shape, int samples);
  Batch& output() { return layer.back(); }
  std::vector<Batch> layer;  // layer[i]: gradient of what layer i puts out
};

// A network laid out for products: call pack() whenever its parameters have changed.
class Mlp {
 public:
  enum class Use { forward, forward_and_backward };

  Mlp() = default;
  // With a backward pass, the gradient with respect to inputs first_input .. first_input + inputs -
  // 1 is available too.
  Mlp(const MlpShape& shape, Use use, int first_input = 0, int inputs = 0);

  const MlpShape& shape() const { return shape_; }
  void pack(std::span<const float> parameters);

  void forward(std::span<const float> parameters, const Batch& input, Activations& activations,
               Blocks blocks) const;

  // From deltas.output() to the gradient of every parameter (padding stays zero), over the samples
  // of `blocks`.
  void backward(const Batch& input, const Activations& activations, Deltas& deltas, Blocks blocks,
                std::span<float> gradient, GradientScratch& scratch) const;

  // From the gradient of layer `from`'s output, already masked by its ReLU if it has one, down to
  // the chosen inputs; no parameter gradients.
  void backward_to_input(const Activations& activations, Deltas& deltas, int from,
                         Batch& input_gradient, Blocks blocks) const;

 private:
  void normalise(int layer, Activations& activations, Blocks blocks) const;
  void back_through_norm(int layer, const Activations& activations, Deltas& deltas, Blocks blocks,
                         float* gradient) const;

  MlpShape shape_;
  Use use_ = Use::forward;
  int first_input_ = 0;
  std::vector<Buffer> gain_, shift_;  // of normalised layers
  std::vector<Panels> forward_;       // per layer
  // per layer: its transposed weights; layer 0 the chosen inputs only
  std::vector<Panels> backward_;
};

}  // namespace ovde
