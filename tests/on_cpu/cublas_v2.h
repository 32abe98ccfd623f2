// The part of cuBLAS that src/cuda uses, on a CPU: products in plain loops, recorded in graphs as
// launches are.
#pragma once

#include <algorithm>
#include <vector>

#include "cuda_fp16.h"
#include "cuda_runtime.h"

enum cublasStatus_t { CUBLAS_STATUS_SUCCESS };
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cudaDataType_t { CUDA_R_16F, CUDA_R_32F };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT };

namespace on_cpu {
struct Blas {
  cudaStream_t stream = nullptr;
};

inline float read(const void* from, cudaDataType_t type, long long at) {
  return type == CUDA_R_32F ? static_cast<const float*>(from)[at]
                            : to_float(static_cast<const __half*>(from)[at].bits);
}
inline void write(void* to, cudaDataType_t type, long long at, float x) {
  if (type == CUDA_R_32F) {
    static_cast<float*>(to)[at] = x;
  } else {
    static_cast<__half*>(to)[at].bits = to_half(x);
  }
}
// A matrix or its transpose as floats, by columns.
inline std::vector<float> read_matrix(const void* from, cudaDataType_t type, long long at,
                                      int stride, bool transpose, int rows, int columns) {
  std::vector<float> matrix(static_cast<std::size_t>(rows) * columns);
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) {
      const long long step = transpose ? j + 1LL * i * stride : i + 1LL * j * stride;
      matrix[i + static_cast<std::size_t>(j) * rows] = read(from, type, at + step);
    }
  }
  return matrix;
}

}  // namespace on_cpu
using cublasHandle_t = on_cpu::Blas*;

inline const char* cublasGetStatusString(cublasStatus_t) { return ""; }
inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new on_cpu::Blas;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}

// c = alpha a b + beta c in the order of columns.
inline cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t a_form, cublasOperation_t b_form, int m, int n, int k,
    const void* alpha, const void* a, cudaDataType_t a_type, int a_stride, long long a_step,
    const void* b, cudaDataType_t b_type, int b_stride, long long b_step, const void* beta, void* c,
    cudaDataType_t c_type, int c_stride, long long c_step, int count, cublasComputeType_t,
    cublasGemmAlgo_t) {
  const float factor = *static_cast<const float*>(alpha), kept = *static_cast<const float*>(beta);
  on_cpu::launch(handle->stream, dim3(count), dim3(1), 0, [=] {
    const long long matrix = blockIdx.x;
    // a (m x k) by columns, b (k x n) by columns
    const std::vector<float> left = on_cpu::read_matrix(a, a_type, matrix * a_step, a_stride,
                                                        a_form == CUBLAS_OP_T, m, k),
                             right = on_cpu::read_matrix(b, b_type, matrix * b_step, b_stride,
                                                         b_form == CUBLAS_OP_T, k, n);
    std::vector<float> sum(m);
    for (int j = 0; j < n; ++j) {
      std::ranges::fill(sum, 0.0f);
      for (int l = 0; l < k; ++l) {
        for (int i = 0; i < m; ++i) sum[i] += left[i + l * m] * right[l + j * k];
      }
      for (int i = 0; i < m; ++i) {
        const long long at = matrix * c_step + i + 1LL * j * c_stride;
        const float before = kept == 0 ? 0 : kept * on_cpu::read(c, c_type, at);
        on_cpu::write(c, c_type, at, factor * sum[i] + before);
      }
    }
  });
  return CUBLAS_STATUS_SUCCESS;
}
