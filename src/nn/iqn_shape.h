// The layers of an implicit quantile network (iqn.h): where they lie in its flat parameter buffer,
// and how they start.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "nn/mlp.h"

namespace ovde {

inline constexpr int kCosines = 64;

// Where the layers lie in the flat buffer: weights and biases as those of an Mlp, then gain and
// shift of the layer's normalisation.
class IqnShape {
 public:
  struct Layer : MlpShape::Layer {
    std::size_t gain, shift;  // offsets; the output layer has none
  };

  IqnShape() = default;
  IqnShape(int inputs, const std::vector<int>& hidden);  // at least two hidden layers

  int inputs() const { return layers_.front().inputs; }
  int feature_layers() const { return static_cast<int>(layers_.size()) - 3; }
  const Layer& features(int index) const { return layers_[index]; }
  const Layer& gate() const { return layers_[layers_.size() - 3]; }
  const Layer& merge() const { return layers_[layers_.size() - 2]; }
  const Layer& output() const { return layers_.back(); }
  const std::vector<Layer>& layers() const { return layers_; }
  std::size_t size() const { return size_; }  // floats in the buffer, padding included

  // Multiply-adds of one sample at that many fractions: of the values, and of the way back from
  // them to the first layer's linear output.
  double products(int fractions) const;
  double products_back(int fractions) const;

 private:
  std::vector<Layer> layers_;  // features, gate, merge, output
  std::size_t size_ = 0;
};

// As PyTorch does by default: weights and biases U(+-1/sqrt(fan-in)), gains 1, shifts 0.
void initialise(const IqnShape& shape, std::uint64_t seed, std::uint32_t network,
                std::span<float> parameters);

}  // namespace ovde
