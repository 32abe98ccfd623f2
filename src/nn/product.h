// Matrix products on batches. A weight matrix is first laid out in panels of kRows rows (Panels); a
// product then runs tile by tile with its bias, ReLU or mask applied while the tile is still in
// registers.
#pragma once

#include <span>

#include "nn/batch.h"

namespace ovde {

// A matrix (rows x depth) as the left factor of a product: [panel][depth][kRows], missing rows
// zero.
class Panels {
 public:
  Panels() = default;
  Panels(int rows, int depth);

  int rows() const { return rows_; }
  int depth() const { return depth_; }

  // From a row-major matrix whose rows are `stride` apart.
  void pack(const float* matrix, int stride);
  // The transpose of columns first .. first + rows - 1 of a row-major matrix with `depth` rows.
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

enum class Activation { none, relu };

// y = activation(w x + bias)
void product_forward(const Panels& w, const float* bias, Activation activation, const Batch& x,
                     Batch& y, Blocks blocks);

// dx = w dy, and where a mask is given, zero where mask <= 0 (w: panels of the transposed weights;
// mask: the activations that x held after its ReLU).
void product_backward(const Panels& w, const Batch& dy, const Batch* mask, Batch& dx,
                      Blocks blocks);

// Scratch space of weight_gradient, for one thread.
struct GradientScratch {
  GradientScratch() = default;
  GradientScratch(int widest, int samples);  // widest: most inputs or outputs of any layer
  Buffer inputs;                             // x transposed: [chunk of inputs][sample][lane]
  Buffer outputs;                            // dy transposed: [panel of outputs][sample][kRows]
};

// weights (outputs x inputs, row-major, rows `stride` apart, stride a multiple of 16) = dy x' and
// bias = row sums of dy, over the samples of `blocks`.
void weight_gradient(const Batch& dy, const Batch& x, Blocks blocks, float* weights, int stride,
                     float* bias, GradientScratch& scratch);

// The same, added to what is there: for a batch that is worked through in parts.
void add_weight_gradient(const Batch& dy, const Batch& x, Blocks blocks, float* weights, int stride,
                         float* bias, GradientScratch& scratch);

}  // namespace ovde
