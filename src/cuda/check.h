// Errors of the CUDA runtime as ovde::Error, naming the call.
#pragma once

#include <cuda_runtime.h>

#include <string>

#include <ovde/error.h>

namespace ovde::cuda {

inline void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw Error(std::string("CUDA: ") + call + ": " + cudaGetErrorString(status) + " (" +
              cudaGetErrorName(status) + ")");
}

}  // namespace ovde::cuda
