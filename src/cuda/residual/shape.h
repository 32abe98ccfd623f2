// A normalised residual network (nn/residual.h) as the GPU's kernels see it: where its parts lie in
// the flat buffers of its parameters and of its running statistics. Plain numbers.
#pragma once

#include "base/lanes.h"

namespace ovde::cuda::residual {

// Limits of the kernels.
inline constexpr int kMostExplorerActions = 32;
inline constexpr int kMostBlocks = 4, kMostInputs = 512, kMostWidth = 512, kMostExpanded = 1024,
                     kMostOutputs = 128;

// Weights (outputs x inputs), rows padded with zeros to `stride` floats.
struct LinearPart {
  int inputs, outputs, stride;
  int weights;  // offset in floats
};

// A batch norm has a gain and a shift for each unit, then running means and variances; the RMS norm
// has a gain alone.
struct NormPart {
  int width;
  int gain, shift;     // offsets in the parameters
  int mean, variance;  // offsets in the statistics
};

struct ResidualShape {
  struct Block {
    LinearPart up;
    NormPart up_norm;
    LinearPart down;
    NormPart down_norm;
  };

  NormPart input_norm;
  LinearPart input;
  int blocks;
  Block block[kMostBlocks];
  NormPart output_norm;
  LinearPart head;
  int bias;        // offset of the head's bias
  int size;        // floats of the parameters
  int statistics;  // floats of the running statistics

  // The weights' copies for products, and the gradients, have rows of zeros after the head: cuBLAS
  // is three times as fast with a multiple of 8 rows. Offsets are those of the parameters, but the
  // gradient of the bias is behind these rows.
  int padded_bias, padded_size;

  OVDE_BOTH int width() const { return input.outputs; }
  // rows of the head's outputs and of their gradients, and its rows with those of zeros
  OVDE_BOTH int output_stride() const { return (head.outputs + 7) / 8 * 8; }
  OVDE_BOTH int expanded() const { return block[0].up.outputs; }
};

}  // namespace ovde::cuda::residual
