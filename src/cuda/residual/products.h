// Products of matrices for many networks at once, by cuBLAS: numbers in fp16 or fp32, sums in fp32.
// The library is loaded when the first population needs it: programs run without it.
#pragma once

#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "cuda/host/handles.h"

namespace ovde::cuda::residual {

// One matrix for each network: rows of `stride` numbers, the next network's `step` numbers further.
template <typename T>
struct Matrices {
  T* data;
  int stride;
  long long step;
};

class Products {
 public:
  // InputError if cuBLAS cannot be loaded.
  Products();
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  // The following products are enqueued on this stream.
  void use(cudaStream_t stream);
  cudaStream_t stream() const { return stream_; }

  // y (rows x outputs) = x (rows x inputs) w^T.
  template <typename T, typename Out>
  void forward(int networks, int rows, int inputs, int outputs, Matrices<const T> x,
               Matrices<const T> w, Matrices<Out> y) const {
    multiply({networks, outputs, rows, inputs}, CUBLAS_OP_T, w, CUBLAS_OP_N, x, 0, y);
  }
  // dx (rows x inputs) = dy (rows x outputs) w, added to what is there if `add`.
  template <typename T>
  void backward(int networks, int rows, int inputs, int outputs, Matrices<const T> dy,
                Matrices<const T> w, Matrices<T> dx, bool add) const {
    multiply({networks, inputs, rows, outputs}, CUBLAS_OP_N, w, CUBLAS_OP_N, dy, add ? 1 : 0, dx);
  }
  // dw (outputs x inputs) = dy^T x.
  template <typename T>
  void gradient(int networks, int rows, int inputs, int outputs, Matrices<const T> dy,
                Matrices<const T> x, Matrices<float> dw) const {
    multiply({networks, inputs, outputs, rows}, CUBLAS_OP_N, x, CUBLAS_OP_T, dy, 0, dw);
  }

 private:
  struct Sizes {
    int networks, m, n, k;
  };
  struct Operand {
    const void* data;
    cudaDataType_t type;
    int stride;
    long long step;
  };
  template <typename T>
  static Operand operand(Matrices<T> x) {
    const bool exact = std::is_same_v<std::remove_const_t<T>, float>;
    return {x.data, exact ? CUDA_R_32F : CUDA_R_16F, x.stride, x.step};
  }
  // In the order of columns, as cuBLAS has it: c (m x n) = a b + beta c.
  template <typename T, typename Out>
  void multiply(const Sizes& sizes, cublasOperation_t a_form, Matrices<const T> a,
                cublasOperation_t b_form, Matrices<const T> b, float beta, Matrices<Out> c) const {
    multiply(sizes, a_form, operand(a), b_form, operand(b), beta, operand(c), c.data);
  }
  void multiply(const Sizes& sizes, cublasOperation_t a_form, const Operand& a,
                cublasOperation_t b_form, const Operand& b, float beta, const Operand& c,
                void* to) const;

  DeviceArray<char> workspace_;
  cublasHandle_t handle_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

}  // namespace ovde::cuda::residual
