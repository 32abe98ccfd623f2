// Matrix products on batches. A weight matrix is packed into panels of kRows rows; a product then
// computes tile by tile, and applies bias, ReLU or mask while the tile is in registers.
#pragma once

#include "nn/batch.h"

namespace ovde {

// The left factor (rows x depth) of a product, stored as [panel][depth][kRows], padded with zeros.
class Panels {
 public:
  Panels(int rows, int depth);

  int depth() const { return depth_; }

  // Packs a row-major matrix whose rows are `stride` apart.
  void pack(const float* matrix, int stride);
  // Packs the transpose of columns first .. first + rows - 1 of a row-major matrix of `depth` rows.
  void pack_transposed(const float* matrix, int stride, int first);

  const float* panel(int index) const {
    return data_.data() + static_cast<std::size_t>(index) * padded_depth_ * kRows;
  }
  int panels() const { return (rows_ + kRows - 1) / kRows; }

 private:
  int rows_ = 0;
  int depth_ = 0;
  int padded_depth_ = 0;
  Buffer data_;
};

// The weights of a layer (outputs x inputs), packed for the forward product and for the backward
// product to `chosen` inputs from number `first` on. With chosen = 0 there is no backward product.
struct LayerPanels {
  LayerPanels(int outputs, int inputs, int chosen, int first = 0)
      : forward(outputs, inputs), backward(chosen, outputs), first(first) {}
  void pack(const float* weights, int stride) {
    forward.pack(weights, stride);
    backward.pack_transposed(weights, stride, first);
  }
  Panels forward, backward;
  int first;
};

enum class Activation { none, relu };

// y = activation(w x + bias)
void product_forward(const Panels& w, const float* bias, Activation activation, const Batch& x,
                     Batch& y, Blocks blocks);

// dx = w dy, and 0 where mask <= 0, if a mask is given (w: the transposed weights; mask: x after
// its ReLU).
void product_backward(const Panels& w, const Batch& dy, const Batch* mask, Batch& dx,
                      Blocks blocks);

// Scratch memory of weight_gradient(), for one thread.
struct GradientScratch {
  GradientScratch() = default;
  GradientScratch(int widest, int samples);  // widest: most inputs or outputs of any layer
  Buffer inputs;                             // x transposed: [chunk of inputs][sample][lane]
  Buffer outputs;                            // dy transposed: [panel of outputs][sample][kRows]
};

// weights (outputs x inputs, row-major, rows `stride` apart, stride a multiple of 16) = dy x' and
// bias = row sums of dy, over the samples of `blocks`; with kAdd, added to weights and bias.
template <bool kAdd>
void weight_gradient(const Batch& dy, const Batch& x, Blocks blocks, float* weights, int stride,
                     float* bias, GradientScratch& scratch);

}  // namespace ovde
