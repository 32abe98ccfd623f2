// Multi-layer perceptron with ReLU between its layers, over one flat parameter buffer that the
// caller owns. With `norm`, hidden layers have layer normalisation (norm.h) with gain and shift
// before the ReLU. A residual network as in acting (residual.h) is such a list of layers too,
// joined in another way. Knows nothing of losses or of reinforcement learning.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <ovde/random.h>
#include "nn/equations.h"
#include "nn/product.h"

namespace ovde {

// Offsets of each layer in the flat buffer: weights (outputs x inputs, row-major, rows padded with
// zeros to a multiple of 16), biases, and gains and shifts of normalised layers.
class MlpShape {
 public:
  struct Layer {
    int inputs, outputs, stride;
    std::size_t weights, bias, gain, shift;  // offsets
    bool operator==(const Layer&) const = default;
  };

  MlpShape() = default;
  MlpShape(int inputs, const std::vector<int>& hidden, int outputs, bool norm = false);

  // x_0 = layer 0 of the input; x_b = x_(b-1) + relu(layer 2b of relu(layer 2b-1 of x_(b-1))) for
  // each block; the last layer takes x / sqrt(mean(x^2) + epsilon).
  static MlpShape residual(int inputs, int width, int blocks, int expansion, int outputs);
  bool is_residual() const { return residual_; }
  int blocks() const { return layers() / 2 - 1; }  // where it is residual
  // A ReLU follows the layer; its output is added to x; the RMS norm follows it.
  bool has_relu(int layer) const { return layer + 1 < layers() && !(residual_ && layer == 0); }
  bool ends_block(int layer) const { return residual_ && layer > 0 && layer % 2 == 0; }
  bool precedes_rms_norm(int layer) const { return residual_ && layer + 2 == layers(); }
  // The same shape with another number of outputs.
  MlpShape with_outputs(int outputs) const;

  int inputs() const { return layers_.front().inputs; }
  int outputs() const { return layers_.back().outputs; }
  int layers() const { return static_cast<int>(layers_.size()); }
  const Layer& layer(int index) const { return layers_[index]; }
  std::size_t size() const { return size_; }  // floats in the buffer, padding included
  bool norm() const { return norm_; }         // whether hidden layers are normalised
  int widest() const;
  bool operator==(const MlpShape&) const = default;
  double products(int first_layer = 0) const;  // multiply-adds of one sample, from that layer on

 private:
  std::vector<Layer> layers_;
  std::size_t size_ = 0;
  bool norm_ = false, residual_ = false;
};

// last: range of the last layer for Initialisation::base.
void initialise(const MlpShape& shape, std::uint64_t seed, std::uint32_t network, float last,
                std::span<float> parameters, Initialisation how = Initialisation::base);

// The same for one layer; `output`: whether it is the last.
void initialise_layer(const MlpShape::Layer& layer, Initialisation how, bool output, float last,
                      Random& random, std::span<float> parameters);

// The outputs of all layers after a forward pass; hidden layers after their ReLU.
struct Activations {
  Activations() = default;
  Activations(const MlpShape& shape, int samples);
  Batch& output() { return layer.back(); }
  const Batch& output() const { return layer.back(); }
  std::vector<Batch> layer;
  // normalised hidden layers before gain and shift, and the scale of the norm (1 x samples)
  std::vector<Batch> normal, scale;
  // for a residual network: the outputs of blocks before they are added to x, the normalised input
  // of the last layer and the scale of its norm (1 x samples)
  std::vector<Batch> added;
  Batch last_input, last_scale;
};

// The gradients of all layers' outputs.
struct Deltas {
  Deltas(const MlpShape& shape, int samples);
  Batch& output() { return layer.back(); }
  std::vector<Batch> layer;
  Batch added;  // for a residual network: the gradient of a block's output
};

// The network with its weights packed for matrix products: call pack() after every change of the
// parameters.
class Mlp {
 public:
  enum class Use { forward, forward_and_backward };

  Mlp() = default;
  // backward_to_input() gives the gradient of inputs first_input .. first_input + inputs - 1.
  Mlp(const MlpShape& shape, Use use, int first_input = 0, int inputs = 0);

  const MlpShape& shape() const { return shape_; }
  void pack(std::span<const float> parameters);

  void forward(std::span<const float> parameters, const Batch& input, Activations& activations,
               Blocks blocks) const;

  // Computes the gradient of every parameter from deltas.output(), over the samples of `blocks`.
  // Not for a residual network, which learns by residual.h.
  void backward(const Batch& input, const Activations& activations, Deltas& deltas, Blocks blocks,
                std::span<float> gradient, GradientScratch& scratch) const;

  // Computes the gradient of the chosen inputs only, from that of layer `from`'s output, already
  // masked by its ReLU.
  void backward_to_input(const Activations& activations, Deltas& deltas, int from,
                         Batch& input_gradient, Blocks blocks) const;

 private:
  void normalise(int layer, Activations& activations, Blocks blocks) const;
  void forward_residual(std::span<const float> parameters, const Batch& input,
                        Activations& activations, Blocks blocks) const;
  void residual_to_input(const Activations& activations, Deltas& deltas, Batch& input_gradient,
                         Blocks blocks) const;
  void back_through_norm(int layer, const Activations& activations, Deltas& deltas, Blocks blocks,
                         float* gradient) const;

  MlpShape shape_;
  std::vector<Buffer> gain_, shift_;  // per normalised layer
  std::vector<LayerPanels> panels_;   // per layer
};

}  // namespace ovde
