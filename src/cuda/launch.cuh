// Launches of kernels, with errors as ovde::Error.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "cuda/check.h"

namespace ovde::cuda {

// With `bytes` of shared memory.
template <typename... Parameters>
void launch_kernel(void (*kernel)(Parameters...), dim3 blocks, int threads, int bytes,
                   cudaStream_t stream, std::type_identity_t<Parameters>... arguments) {
  if (bytes > 0)
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes),
          "cudaFuncSetAttribute");
  void* pointers[] = {&arguments...};
  check(cudaLaunchKernel(kernel, blocks, dim3(threads), pointers, bytes, stream),
        "cudaLaunchKernel");
}

}  // namespace ovde::cuda
