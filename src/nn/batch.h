// A batch of column vectors (features x samples), stored in blocks of kLanes samples: in a block,
// each feature is a contiguous row of kLanes numbers. Products, losses and element-wise functions
// work on these rows without packing or transposing.
#pragma once

#include "nn/simd.h"

namespace ovde {

// Blocks first .. last-1 of a batch: one thread's part.
struct Blocks {
  int first = 0;
  int last = 0;
};

class Batch {
 public:
  Batch() = default;
  Batch(int features, int samples)
      : features_(features),
        samples_(samples),
        stride_(static_cast<std::size_t>(round_up(features, kRows)) * kLanes),
        data_(stride_ * blocks()) {}

  int features() const { return features_; }
  int samples() const { return samples_; }
  int blocks() const { return (samples_ + kLanes - 1) / kLanes; }

  // (features x kLanes), row-major, padded with zero rows to a multiple of kRows.
  float* block(int b) { return data_.data() + b * stride_; }
  const float* block(int b) const { return data_.data() + b * stride_; }
  float* row(int b, int feature) { return block(b) + feature * kLanes; }
  const float* row(int b, int feature) const { return block(b) + feature * kLanes; }

  float& at(int feature, int sample) { return row(sample / kLanes, feature)[sample % kLanes]; }
  float at(int feature, int sample) const { return row(sample / kLanes, feature)[sample % kLanes]; }

 private:
  int features_ = 0;
  int samples_ = 0;
  std::size_t stride_ = 0;
  Buffer data_;
};

// All blocks of a batch, or one of its two fixed halves.
inline Blocks all_blocks(const Batch& batch) { return {0, batch.blocks()}; }
inline Blocks half_blocks(const Batch& batch, int half) {
  const int middle = (batch.blocks() + 1) / 2;
  return half == 0 ? Blocks{0, middle} : Blocks{middle, batch.blocks()};
}

// Calls work(b, v) for every vector of samples in these blocks: samples v .. v + kVector - 1 of
// block b.
template <typename Work>
inline void over_samples(Blocks blocks, Work&& work) {
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int v = 0; v < kLanes; v += kVector) work(b, v);
  }
}

// Calls work(b, f, v) for the same vectors of features 0 .. features - 1.
template <typename Work>
inline void over_rows(int features, Blocks blocks, Work&& work) {
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int f = 0; f < features; ++f) {
      for (int v = 0; v < kLanes; v += kVector) work(b, f, v);
    }
  }
}

}  // namespace ovde
