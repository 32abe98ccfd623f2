// Launches of kernels, and errors of the CUDA runtime as ovde::Error.
#pragma once

#include <cuda_runtime.h>

#include <string>
#include <type_traits>

#include <ovde/error.h>

namespace ovde::cuda {

// Error, naming the call, unless it succeeded.
inline void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  throw Error(std::string("CUDA: ") + call + ": " + cudaGetErrorString(status) + " (" +
              cudaGetErrorName(status) + ")");
}

// The number of parts of `each` that `count` is cut into.
inline int parts_of(int count, int each) { return (count + each - 1) / each; }

// Launches a kernel with `bytes` of dynamic shared memory per block.
template <typename... Parameters>
void launch(void (*kernel)(Parameters...), dim3 blocks, int threads, int bytes, cudaStream_t stream,
            std::type_identity_t<Parameters>... arguments) {
  if (bytes > 0)
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
          "cudaFuncSetAttribute");
  void* pointers[] = {&arguments...};
  check(cudaLaunchKernel(kernel, blocks, dim3(threads), pointers, bytes, stream),
        "cudaLaunchKernel");
}

}  // namespace ovde::cuda
