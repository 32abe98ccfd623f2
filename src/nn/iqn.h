// Implicit quantile network (Dabney et al., 2018): a function z(x, tau) of an input x and a
// fraction tau, over one flat parameter buffer that the caller owns. Knows nothing of losses or of
// reinforcement learning.
//
//   features = relu(norm(linear(x))), once or more        hidden[0] .. hidden[n-2] wide
//   gate     = sigmoid(norm(linear(cos(pi j tau))))       j = 1 .. 64
//   merged   = relu(norm(linear(features * gate)))        hidden[n-1] wide
//   z        = linear(merged)
//
// Without a norm these still have its gain and shift.
//
// It works through a batch by blocks of kLanes samples: the features of a block are computed once,
// then its samples at their first fractions, at their second, and so on, while all of that lies in
// the cache.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nn/equations.h"
#include "nn/mlp.h"
#include "nn/norm.h"

namespace ovde {

// Where the layers lie in the flat buffer: as those of an Mlp with norm; the output layer has
// neither gain nor shift.
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
  bool norm() const { return norm_; }         // sums are normalised

  // Multiply-adds of one sample at that many fractions: of the values, and of the backward pass
  // from them to the first layer's linear output.
  double products(int fractions) const;
  double products_back(int fractions) const;

 private:
  std::vector<Layer> layers_;  // features, gate, merge, output
  std::size_t size_ = 0;
  bool norm_ = true;
};

// As those of an Mlp, with gains 1 and shifts 0.
void initialise(const IqnShape& shape, std::uint64_t seed, std::uint32_t network,
                std::span<float> parameters, Initialisation how = Initialisation::torch,
                float last = 0);

// What a forward pass through one block of samples leaves.
struct IqnActivations {
  IqnActivations() = default;
  // Without a backward pass the fractions take turns in the same place.
  IqnActivations(const IqnShape& shape, int fractions, Mlp::Use use);

  struct Features {
    Batch normal, output;  // (width x kLanes): before gain and shift, and after the ReLU
    Lanes scale;           // of the normalisation
  };
  Batch input;  // (inputs x kLanes)
  std::vector<Features> features;

  // a block of columns for each fraction
  int places = 0;
  Batch cosines;            // (64 x columns)
  Batch gate_normal, gate;  // (features x columns)
  Batch gated;              // features * gate
  Batch merged_normal;      // (merged x columns)
  std::vector<Lanes> gate_scale, merged_scale;
};

// What the backward pass through one block of samples needs beside the activations.
struct IqnDeltas {
  IqnDeltas() = default;
  IqnDeltas(const IqnShape& shape, int fractions);

  std::vector<Batch> features;      // (width x kLanes): of each feature layer's output
  Batch input;                      // (inputs x kLanes)
  Batch gated;                      // (features x columns)
  Batch merged;                     // (merged x columns)
  Batch gate_gain, gate_shift;      // (features x kLanes): sums over the fractions
  Batch merged_gain, merged_shift;  // (merged x kLanes)
  GradientScratch scratch;
};

// A network laid out for products: call pack() whenever its parameters have changed.
class Iqn {
 public:
  Iqn() = default;
  // With a backward pass, the gradient with respect to inputs first_input .. first_input + inputs -
  // 1 is available too.
  Iqn(const IqnShape& shape, Mlp::Use use, int first_input = 0, int inputs = 0);

  const IqnShape& shape() const { return shape_; }
  void pack(std::span<const float> parameters);

  // The values (fractions x samples) of one block of samples at these fractions (likewise).
  void forward(std::span<const float> parameters, const Batch& input, const Batch& fractions,
               int block, IqnActivations& activations, Batch& values) const;

  // From the gradient of these values (fractions x samples) to that of every parameter, which is
  // added to `gradient` (padding stays as it is).
  void backward(std::span<const float> parameters, const Batch& value_gradient, int block,
                const IqnActivations& activations, IqnDeltas& deltas,
                std::span<float> gradient) const;

  // The same to the chosen inputs (inputs x samples); no parameter gradients.
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
  Mlp::Use use_ = Mlp::Use::forward;
  int first_input_ = 0;
  std::vector<Panels> forward_;  // features, gate, merge
  // transposed weights of the features; of the first layer the chosen inputs only
  std::vector<Panels> backward_;
  Panels merge_backward_;
};

}  // namespace ovde
