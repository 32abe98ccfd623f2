// The passes of many residual networks of one shape over a batch each, forward and backward: layers
// by cuBLAS (products.h), norms by kernels of our own. All work is enqueued on one stream.
//
// `T` is __half or float: the numbers of products. Gradients are those of a sum over the batch:
// those of its mean would vanish in fp16.
#pragma once

#include <cuda_fp16.h>

#include <cstddef>
#include <vector>

#include "cuda/residual/products.h"
#include "cuda/residual/shape.h"

namespace ovde::cuda::residual {

// Parameters of all networks, one after the other.
template <typename T>
struct Weights {
  const float* parameters;  // fp32, for norms and biases
  const T* products;        // the same numbers for products
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

template <typename T>
class ResidualPasses {
 public:
  // Network n takes input n / sharing, beginning again with the first after `inputs`.
  ResidualPasses(const ResidualShape& shape, int networks, int sharing, int inputs)
      : shape_(shape), networks_(networks), sharing_(sharing), inputs_(inputs) {}

  // inputs: matrices (rows x inputs), in rows of the input layer's stride.
  // momentum: share of the batch in the running statistics; 0: they stay.
  void forward(const Products& products, const Weights<T>& weights, const float* inputs, int rows,
               Statistics statistics, float momentum, Activations<T>& out,
               cudaStream_t stream) const;

  // Memory for the way back.
  struct Gradients {
    Gradients(const ResidualShape& shape, int networks, int rows, Arena& memory);
    T* output;  // the head's outputs': the caller writes it
    T *stream, *up, *down, *input;
  };
  // From gradients.output to the gradients of all parameters (as the parameters lie), or, with
  // by_parameters null and running statistics, to those of the inputs of each network (rows x
  // inputs, in rows of the input layer's stride).
  void backward(const Products& products, const Weights<T>& weights, const float* inputs, int rows,
                const Activations<T>& at, Gradients& gradients, float* by_parameters,
                float* by_input, cudaStream_t stream) const;

 private:
  template <typename U>
  Matrices<U> matrices(U* data, int stride, int rows) const {
    return {data, stride, static_cast<long long>(stride) * rows};
  }
  Matrices<const T> weights_of(const Weights<T>& weights, const LinearPart& part) const {
    return {weights.products + part.weights, part.stride, shape_.size};
  }
  ResidualShape shape_;
  int networks_, sharing_, inputs_;
};

}  // namespace ovde::cuda::residual
