// What the GPU can do at most, with the instructions that the kernels of this folder use.
#include <cuda_runtime.h>

#include <algorithm>

#include "cuda/device_population.h"
#include "cuda/half_tile.cuh"
#include "cuda/launch.cuh"

namespace ovde::cuda {

namespace {

constexpr int kSteps = 4096, kChains = 8, kBlocks = 132 * 4, kBlockThreads = 256;

// Tensor-core products of registers, nothing else.
__global__ void products_only(float* out) {
  float c[kChains][4] = {};
  const std::uint32_t a[4] = {threadIdx.x, threadIdx.x + 1, threadIdx.x + 2, threadIdx.x + 3};
  for (int i = 0; i < kSteps; ++i) {
#pragma unroll
    for (int j = 0; j < kChains; ++j) multiply_half(c[j], a, threadIdx.x, threadIdx.x + 5);
  }
  float sum = 0;
  for (int j = 0; j < kChains; ++j) sum += c[j][0];
  if (sum == 1.0f) out[0] = sum;  // keeps the products from being left out
}

// Seconds of the fastest of several runs.
template <typename Work>
double fastest(Work&& work) {
  cudaEvent_t begin, end;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  float best = 1e30f;
  for (int i = 0; i < 5; ++i) {
    check(cudaEventRecord(begin), "cudaEventRecord");
    work();
    check(cudaEventRecord(end), "cudaEventRecord");
    check(cudaEventSynchronize(end), "measuring the GPU");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    best = std::min(best, milliseconds);
  }
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return 1e-3 * best;
}

}  // namespace

Ceilings measure_ceilings() {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  float *from = nullptr, *to = nullptr;
  check(cudaMalloc(&from, kBytes), "cudaMalloc");
  check(cudaMalloc(&to, kBytes), "cudaMalloc");
  const double copying = fastest(
      [&] { check(cudaMemcpyAsync(to, from, kBytes, cudaMemcpyDeviceToDevice), "cudaMemcpy"); });
  const double multiplying =
      fastest([&] { launch_kernel(products_only, dim3(kBlocks), kBlockThreads, 0, nullptr, to); });
  cudaFree(from);
  cudaFree(to);
  const double flop = 2.0 * 16 * 8 * 16 * kChains * kSteps * (kBlockThreads / 32) * kBlocks;
  return {flop / multiplying, 2.0 * kBytes / copying};
}

}  // namespace ovde::cuda
