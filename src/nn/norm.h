// Layer normalisation (Ba et al., 2016) of blocks (features x kLanes): each column gets mean 0 and
// variance 1 over its features. Gain and shift are applied by the network. And the RMS norm of
// residual networks.
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

// Normalises x in place and calls use(feature, v, offset, n) for every vector n of it.
template <typename Use>
inline void normalise(float* x, int features, const ColumnMoments& moments, Use&& use) {
  for_each_vector(features, [&](int f, int v, int at) {
    const Vector n = (load(x + at) - moments.mean[v]) * moments.scale[v];
    store(x + at, n);
    use(f, v, at, n);
  });
}

// The backward pass of n = (x - mean) * scale: dx = scale * (dn - mean(dn) - n * mean(dn * n)).
// Call add() for every vector of dn, then finish(), then dx() for each or apply() for all.
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
  // Replaces every d by the dx of dn = d * gain.
  void apply(int features, const float* gain, const float* n, float* d) const {
    for_each_vector(features, [&](int f, int v, int at) {
      store(d + at, dx(v, load(d + at) * gain[f], load(n + at)));
    });
  }

 private:
  Lanes mean_, correlation_, scale_;
};

// ---- parts of residual networks, over the given blocks

// sum = x + y
inline void add(const Batch& x, const Batch& y, Batch& sum, Blocks blocks) {
  for (int b = blocks.first; b < blocks.last; ++b) {
    for_each_vector(sum.features(), [&](int, int, int at) {
      store(sum.block(b) + at, load(x.block(b) + at) + load(y.block(b) + at));
    });
  }
}

// out = d where y > 0, otherwise 0
inline void mask(const Batch& d, const Batch& y, Batch& out, Blocks blocks) {
  for (int b = blocks.first; b < blocks.last; ++b) {
    for_each_vector(out.features(), [&](int, int, int at) {
      const Vector gradient = load(d.block(b) + at);
      store(out.block(b) + at, load(y.block(b) + at) > 0 ? gradient : Vector{});
    });
  }
}

// n = x * scale with scale = 1 / sqrt(mean(x^2) + epsilon), for each sample (Zhang and Sennrich,
// 2019).
inline void rms_norm(const Batch& x, Batch& n, Batch& scale, Blocks blocks) {
  const float share = 1.0f / static_cast<float>(x.features());
  for (int b = blocks.first; b < blocks.last; ++b) {
    Lanes squares;
    for_each_vector(x.features(), [&](int, int v, int at) {
      squares[v] += load(x.block(b) + at) * load(x.block(b) + at);
    });
    for (int v = 0; v < kVectorsPerBlock; ++v) {
      squares[v] = 1.0f / square_root(squares[v] * share + kRmsNormEpsilon);
      store(scale.row(b, 0) + v * kVector, squares[v]);
    }
    for_each_vector(x.features(), [&](int, int v, int at) {
      store(n.block(b) + at, load(x.block(b) + at) * squares[v]);
    });
  }
}

// Turns the gradient of n into that of x: dx = scale * (dn - n * mean(dn * n)).
inline void back_through_rms_norm(const Batch& n, const Batch& scale, Batch& d, Blocks blocks) {
  const float share = 1.0f / static_cast<float>(n.features());
  for (int b = blocks.first; b < blocks.last; ++b) {
    Lanes correlation;
    for_each_vector(n.features(), [&](int, int v, int at) {
      correlation[v] += load(d.block(b) + at) * load(n.block(b) + at);
    });
    for_each_vector(n.features(), [&](int, int v, int at) {
      const Vector dn = load(d.block(b) + at) - load(n.block(b) + at) * (correlation[v] * share);
      store(d.block(b) + at, load(scale.row(b, 0) + v * kVector) * dn);
    });
  }
}

}  // namespace ovde
