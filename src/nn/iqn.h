// Implicit quantile network (Dabney et al., 2018): a function z(x, tau) of an input x and a
// fraction tau, over one flat parameter buffer that the caller owns. Knows nothing of losses or of
// reinforcement learning.
//
//   features = relu(norm(linear(x))), once or more        hidden[0] .. hidden[n-2] wide
//   gate     = sigmoid(norm(linear(cos(pi j tau))))       j = 1 .. 64
//   merged   = relu(norm(linear(features * gate)))        hidden[n-1] wide
//   z        = linear(merged)
//
// Without a norm, gain and shift remain.
//
// A batch is processed in blocks of kLanes samples: the features of a block are computed once, then
// the values at its first fractions, its second, and so on, while everything is in the cache.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nn/mlp.h"
#include "nn/norm.h"

namespace ovde {

// Offsets of the layers in the flat buffer, as for an Mlp with norm; the output layer has neither
// gain nor shift.
class IqnShape {
 public:
  using Layer = MlpShape::Layer;

  IqnShape() = default;
  // At least two hidden layers.
  IqnShape(int inputs, const std::vector<int>& hidden, bool norm = true);

  int inputs() const { return layers_.front().inputs; }
  int feature_layers() const { return static_cast<int>(layers_.size()) - 3; }
  const Layer& features(int index) const { return layers_[index]; }
  const Layer& gate() const { return layers_[layers_.size() - 3]; }
  const Layer& merge() const { return layers_[layers_.size() - 2]; }
  const Layer& output() const { return layers_.back(); }
  const std::vector<Layer>& layers() const { return layers_; }
  std::size_t size() const { return size_; }  // floats in the buffer, padding included
  bool norm() const { return norm_; }         // whether layers are normalised

  // Multiply-adds of one sample at that many fractions: of the forward pass, and of the backward
  // pass to the first layer's linear output.
  double products(int fractions) const;
  double products_back(int fractions) const;

 private:
  std::vector<Layer> layers_;  // features, gate, merge, output
  std::size_t size_ = 0;
  bool norm_ = true;
};

// As for an Mlp, with gains 1 and shifts 0.
void initialise(const IqnShape& shape, std::uint64_t seed, std::uint32_t network,
                std::span<float> parameters, Initialisation how = Initialisation::torch,
                float last = 0);

// The results of a forward pass through one block of samples.
struct IqnActivations {
  IqnActivations() = default;
  // Without a backward pass, all fractions use the same memory.
  IqnActivations(const IqnShape& shape, int fractions, Mlp::Use use);

  struct Features {
    Batch normal, output;  // (width x kLanes): normalised, and after gain, shift and ReLU
    Lanes scale;           // scale of the normalisation
  };
  Batch input;  // (inputs x kLanes)
  std::vector<Features> features;

  // one block of columns for each fraction
  int places = 0;
  Batch cosines;            // (64 x columns)
  Batch gate_normal, gate;  // (features x columns)
  Batch gated;              // features * gate
  Batch merged_normal;      // (merged x columns)
  std::vector<Lanes> gate_scale, merged_scale;
};

// The gradients of a backward pass through one block of samples.
struct IqnDeltas {
  IqnDeltas() = default;
  IqnDeltas(const IqnShape& shape, int fractions);

  std::vector<Batch> features;      // (width x kLanes): gradient of each feature layer's output
  Batch input;                      // (inputs x kLanes)
  Batch gated;                      // (features x columns)
  Batch merged;                     // (merged x columns)
  Batch gate_gain, gate_shift;      // (features x kLanes): sums over the fractions
  Batch merged_gain, merged_shift;  // (merged x kLanes)
  GradientScratch scratch;
};

// The network with its weights packed for matrix products: call pack() after every change of the
// parameters.
class Iqn {
 public:
  Iqn() = default;
  // backward_to_input() gives the gradient of inputs first_input .. first_input + inputs - 1.
  Iqn(const IqnShape& shape, Mlp::Use use, int first_input = 0, int inputs = 0);

  void pack(std::span<const float> parameters);

  // Computes the values (fractions x samples) of one block at these fractions (fractions x
  // samples).
  void forward(std::span<const float> parameters, const Batch& input, const Batch& fractions,
               int block, IqnActivations& activations, Batch& values) const;

  // Adds the gradient of every parameter to `gradient`, given that of the values (fractions x
  // samples).
  void backward(std::span<const float> parameters, const Batch& value_gradient, int block,
                const IqnActivations& activations, IqnDeltas& deltas,
                std::span<float> gradient) const;

  // Computes the gradient of the chosen inputs (inputs x samples) only.
  void backward_to_input(std::span<const float> parameters, const Batch& value_gradient, int block,
                         const IqnActivations& activations, IqnDeltas& deltas,
                         Batch& input_gradient) const;

 private:
  ColumnMoments moments(const float* sums, const IqnShape::Layer& layer) const {
    return shape_.norm() ? ColumnMoments(sums, layer.outputs) : ColumnMoments();
  }
  void compute_features(const float* parameters, IqnActivations& activations) const;
  void compute_gate(const float* parameters, int place, IqnActivations& activations) const;
  void compute_value(const float* parameters, int place, IqnActivations& activations,
                     float* value) const;

  template <bool kParameters>
  void back_to_features(const float* parameters, const Batch& value_gradient, int block,
                        const IqnActivations& activations, IqnDeltas& deltas) const;
  template <bool kParameters>
  void back_through_merge(const float* parameters, const float* value_gradient, int place,
                          const IqnActivations& activations, IqnDeltas& deltas) const;
  template <bool kParameters>
  void back_through_gate(const float* parameters, int place, const IqnActivations& activations,
                         IqnDeltas& deltas) const;
  void add_sums(std::span<const float> parameters, const Batch& value_gradient, int block,
                const IqnDeltas& deltas, std::span<float> gradient) const;
  void back_through_feature_layer(const float* parameters, int layer,
                                  const IqnActivations& activations, IqnDeltas& deltas,
                                  float* gradient) const;

  IqnShape shape_;
  std::vector<LayerPanels> panels_;  // features, gate, merge
};

}  // namespace ovde
