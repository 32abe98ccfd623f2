#include "cuda/gpu.h"

#include <algorithm>

#include "cuda/host/handles.h"
#include "cuda/tile/instructions.cuh"

namespace ovde {

using namespace cuda;

namespace {

constexpr int kSteps = 4096, kChains = 8, kPeakBlocks = 132 * 4, kPeakThreads = 256;

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

std::string why_no_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorNoDevice || status == cudaErrorInsufficientDriver || count == 0)
    return "this machine has no NVIDIA GPU, or no driver for one";
  if (status != cudaSuccess) return cudaGetErrorString(status);
  cudaDeviceProp properties{};
  if (const cudaError_t status = cudaGetDeviceProperties(&properties, 0); status != cudaSuccess)
    return cudaGetErrorString(status);
  if (properties.major < 8)
    return std::string(properties.name) + " has compute capability " +
           std::to_string(properties.major) + "." + std::to_string(properties.minor) +
           "; 8.0 or later is needed";
  return "";
}

std::string gpu_name() {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  return properties.name;
}

GpuCeilings measure_gpu() {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  const auto from = make_device_array<char>(kBytes), to = make_device_array<char>(kBytes);
  const double copying = fastest([&] {
    check(cudaMemcpyAsync(to.get(), from.get(), kBytes, cudaMemcpyDeviceToDevice), "cudaMemcpy");
  });
  const auto sum = make_device_array<float>(1);
  const double multiplying = fastest(
      [&] { launch(products_only, dim3(kPeakBlocks), kPeakThreads, 0, nullptr, sum.get()); });
  const double flop = 2.0 * 16 * 8 * 16 * kChains * kSteps * (kPeakThreads / 32) * kPeakBlocks;
  return {flop / multiplying, 2.0 * kBytes / copying};
}

}  // namespace ovde
