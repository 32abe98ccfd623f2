// The passes of many residual networks of one shape over a batch each, forward and backward: layers
// by cuBLAS (products.h), norms by kernels of our own. All work is enqueued on streams.
//
// `T` is __half or float: the numbers of products. Gradients are those of a sum over the batch:
// those of its mean would vanish in fp16.
#pragma once

#include <cuda_fp16.h>

#include <cstddef>
#include <vector>

#include "cuda/host/handles.h"
#include "cuda/residual/products.h"
#include "cuda/residual/shape.h"

namespace ovde::cuda::residual {

// Parameters of all networks, one after the other.
template <typename T>
struct Weights {
  const float* parameters;  // fp32, for norms and biases
  const T* products;        // copies for products, padded (ResidualShape)
  float* statistics;        // running means and variances
};

// The activations of a pass, kept for the way back. Each array has one matrix (rows x units) for
// each network.
template <typename T>
struct Activations {
  Activations(const ResidualShape& shape, int networks, int rows, Arena& memory);

  T* input;                    // normalised
  T* stream[kMostBlocks + 1];  // the sum of the blocks so far
  T* up[kMostBlocks];          // sums before the first norm of a block
  T* active[kMostBlocks];      // after it
  T* down[kMostBlocks];        // sums before the second norm
  T* features;                 // after the RMS norm
  float* output;               // without the bias, rows of output_stride()
  float* scale;                // the RMS norm's, one for each row
  // means and scales of the batch norms, as ResidualShape places running statistics
  float* statistics;
};

// Which statistics the batch norms use.
enum class Statistics { batch, running };

// Products on two streams: `side` for work that the next layer does not wait for.
struct TwoStreams {
  TwoStreams() : event_(make_event()) {}

  // The side waits for the work that is on the main stream now, or the main stream for the side's.
  void fork() const { wait_for(side.stream(), main.stream(), event_); }
  void join() const { wait_for(main.stream(), side.stream(), event_); }

  Products main, side;

 private:
  Owned<cudaEvent_t> event_;
};

template <typename T>
class ResidualPasses {
 public:
  // Network n takes input n / sharing, beginning again with the first after `inputs`.
  ResidualPasses(const ResidualShape& shape, int networks, int sharing, int inputs)
      : shape_(shape), networks_(networks), sharing_(sharing), inputs_(inputs) {}

  // inputs: matrices (rows x inputs), in rows of the input layer's stride.
  // momentum: share of the batch in the running statistics; 0: they stay.
  void forward(const Products& products, const Weights<T>& weights, const float* inputs, int rows,
               Statistics statistics, float momentum, Activations<T>& out) const;

  // Memory for the way back.
  struct Gradients {
    Gradients(const ResidualShape& shape, int networks, int rows, Arena& memory);
    T* output;  // the head's outputs': the caller writes it
    T *features, *stream, *input;
    T *up[kMostBlocks], *down[kMostBlocks];
  };
  // From gradients.output to the gradients of all parameters, padded (ResidualShape), or, with
  // by_parameters null and running statistics, to those of the inputs of each network (rows x
  // inputs, in rows of the input layer's stride). The gradients of weights are computed on the
  // side.
  void backward(const TwoStreams& products, const Weights<T>& weights, const float* inputs,
                int rows, const Activations<T>& at, Gradients& gradients, float* by_parameters,
                float* by_input) const;

 private:
  template <typename U>
  Matrices<U> matrices(U* data, int stride, int rows) const {
    return {data, stride, static_cast<long long>(stride) * rows};
  }
  Matrices<const T> weights_of(const Weights<T>& weights, const LinearPart& part) const {
    return {weights.products + part.weights, part.stride, shape_.padded_size};
  }
  ResidualShape shape_;
  int networks_, sharing_, inputs_;
};

}  // namespace ovde::cuda::residual
