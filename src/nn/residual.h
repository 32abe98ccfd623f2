// Residual network with batch norm (FlashSAC, arXiv 2604.04539), over one flat parameter buffer
// that the caller owns. Knows nothing of losses or of reinforcement learning.
//
//   x = W_0 norm(input)                             width
//   x = x + relu(norm(W_2 relu(norm(W_1 x))))       in each block; inside, expansion * width
//   y = W (gain * x / sqrt(mean(x^2) + epsilon)) + bias
//
// A batch norm has gain and shift. Rows of all matrices have length 1; gain and shift of a norm
// together have length sqrt(width): project() restores both after a step. In training the norms use
// the mean and the variance of the batch, in acting running ones. Those are then constants, which
// fold() puts into the weights: the result is an MlpShape::residual().
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "nn/network.h"

namespace ovde {

// Offsets of the layers in the flat buffer. Rows of matrices are padded with zeros to a multiple of
// 16, so are gains and shifts.
class ResidualShape {
 public:
  struct Linear {
    int inputs, outputs, stride;
    std::size_t weights;  // offset of (outputs x inputs), row-major
  };
  struct Norm {
    int width;
    std::size_t gain, shift;
    std::size_t mean, variance;  // offsets in the buffer of statistics
  };

  ResidualShape(int inputs, int width, int blocks, int expansion, int outputs);

  // Linear layer 0 follows the norm of the input; layers 2b - 1 and 2b are block b, from 1 on; the
  // last one is the head. Norm 0 is that of the input; norm l follows linear layer l of a block.
  const std::vector<Linear>& linears() const { return linears_; }
  const std::vector<Norm>& norms() const { return norms_; }
  const Linear& head() const { return linears_.back(); }
  std::size_t head_gain() const { return head_gain_; }  // gain of the RMS norm
  std::size_t head_bias() const { return head_bias_; }

  int inputs() const { return linears_.front().inputs; }
  int width() const { return linears_.front().outputs; }
  int outputs() const { return head().outputs; }
  int blocks() const { return static_cast<int>(norms_.size()) / 2; }
  int widest() const;
  std::size_t size() const { return size_; }              // floats in the buffer, padding included
  std::size_t statistics() const { return statistics_; }  // floats in the buffer of statistics
  double products(int first_layer = 0) const;  // multiply-adds of one sample, from that layer on

  MlpShape acting() const;

 private:
  std::vector<Linear> linears_;
  std::vector<Norm> norms_;
  std::size_t head_gain_ = 0, head_bias_ = 0, size_ = 0, statistics_ = 0;
};

// Orthogonal matrices with rows of length 1, gains 1, shifts and bias 0; means 0, variances 1.
void initialise(const ResidualShape& shape, std::uint64_t seed, std::uint32_t network,
                std::span<float> parameters);
void initialise_statistics(const ResidualShape& shape, std::span<float> statistics);

// Brings rows of matrices and norms back to their lengths.
void project(const ResidualShape& shape, std::span<float> parameters);

// Parameters of the same function as in acting. `acting`: shape.acting().
void fold(const ResidualShape& shape, std::span<const float> parameters,
          std::span<const float> statistics, const MlpShape& acting, std::span<float> folded);

// The results of a pass through two batches. A Pair has one entry for each batch.
struct ResidualTrace {
  using Pair = std::array<Batch, 2>;

  ResidualTrace(const ResidualShape& shape, int samples);

  // by norm: normalised, and after gain, shift and, in blocks, the ReLU
  std::vector<Pair> normal, output;
  std::vector<Pair> sum;  // x after layer 0 and after each block
  // the head, for the batch whose output was asked for alone
  Batch head_normal, head_scale;
  Batch head_input, head_output;
  Buffer moments;  // means and variances of the batch, at the offsets of statistics
  Buffer scale;    // 1 / sqrt(variance + epsilon), at the offsets of the means
};

// The gradients of a backward pass.
struct ResidualDeltas {
  ResidualDeltas(const ResidualShape& shape, int samples);

  ResidualTrace::Pair input;  // gradient by the normalised input
  ResidualTrace::Pair sum, narrow, wide;
  std::array<Buffer, 2> gradient;  // by the parameters, for each batch; their sum is the gradient
  std::array<Buffer, 2> bias;      // unused: linear layers have no bias
  std::array<GradientScratch, 2> scratch;
};

// The network with its weights packed for matrix products: call pack() after every change of the
// parameters. A pass alternates between products, one piece for each batch, and norms, one piece
// for each half of the features.
class Residual {
 public:
  Residual(const ResidualShape& shape, Mlp::Use use);

  void pack(std::span<const float> parameters);

  // Both batches as one, with its statistics. trace.head_output: the outputs at batch `which`.
  void forward(std::span<const float> parameters, const BatchPair& input, int which,
               ResidualTrace& trace, Team& team) const;

  // The gradient of the parameters, given that of the outputs at the first batch. The trace is that
  // of forward() with which = 0.
  void backward(std::span<const float> parameters, const ResidualTrace& trace,
                const Batch& output_gradient, ResidualDeltas& deltas, Team& team) const;

  // Moves running statistics towards those of the batch of the last forward().
  void follow(const ResidualTrace& trace, std::span<float> statistics) const;

 private:
  void forward_norm(int norm, std::span<const float> parameters, std::array<const Batch*, 2> x,
                    ResidualTrace& trace, int half) const;
  void backward_norm(int norm, std::span<const float> parameters, const ResidualTrace& trace,
                     const ResidualTrace::Pair& dy, ResidualTrace::Pair* dx, float* gradient,
                     int half) const;
  void linear(int layer, const Batch& x, Batch& y) const;

  ResidualShape shape_;
  Buffer zeros_;  // the bias of layers without one
  std::vector<LayerPanels> panels_;
};

}  // namespace ovde
