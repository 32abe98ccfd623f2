// Layer normalisation (Ba et al., 2016) of blocks (features x kLanes): each column gets mean 0 and
// variance 1 over its features. Gain and shift are applied by the network.
#pragma once

#include "nn/batch.h"
#include "nn/equations.h"

namespace ovde {

// One number for each sample of a block.
struct Lanes {
  Vector& operator[](int v) { return part[v]; }
  const Vector& operator[](int v) const { return part[v]; }
  Vector part[kVectorsPerBlock] = {};
};

// work(feature, v, offset) for every vector of a block.
template <typename Work>
inline void for_each_vector(int features, Work&& work) {
  for (int f = 0; f < features; ++f) {
    for (int v = 0; v < kVectorsPerBlock; ++v) work(f, v, f * kLanes + v * kVector);
  }
}

struct ColumnMoments {
  ColumnMoments() {  // the identity
    for (Vector& s : scale.part) s = splat(1.0f);
  }
  ColumnMoments(const float* x, int features) {
    const float share = 1.0f / static_cast<float>(features);
    for_each_vector(features, [&](int, int v, int at) { mean[v] += load(x + at); });
    for (Vector& m : mean.part) m *= share;
    Lanes squares;
    for_each_vector(features, [&](int, int v, int at) {
      const Vector deviation = load(x + at) - mean[v];
      squares[v] += deviation * deviation;
    });
    for (int v = 0; v < kVectorsPerBlock; ++v)
      scale[v] = 1.0f / square_root(squares[v] * share + kNormEpsilon);
  }

  Lanes mean;
  Lanes scale;  // 1 / sqrt(variance + epsilon)
};

// The backward pass of n = (x - mean) * scale: dx = scale * (dn - mean(dn) - n * mean(dn * n)).
// Call add() for every vector of dn, then finish(), then dx() for each.
class NormGradient {
 public:
  void add(int v, Vector dn, Vector n) {
    mean_[v] += dn;
    correlation_[v] += dn * n;
  }
  // Without `norm`, dx is dn.
  void finish(int features, const Lanes& scale, bool norm = true) {
    if (!norm) mean_ = correlation_ = {};
    const float share = 1.0f / static_cast<float>(features);
    for (int v = 0; v < kVectorsPerBlock; ++v) {
      mean_[v] *= share;
      correlation_[v] *= share;
    }
    scale_ = scale;
  }
  Vector dx(int v, Vector dn, Vector n) const {
    return scale_[v] * (dn - mean_[v] - n * correlation_[v]);
  }

 private:
  Lanes mean_, correlation_, scale_;
};

}  // namespace ovde
