// The part of CUDA that src/cuda uses, on a CPU. It replaces the toolkit's header, so that a C++
// compiler can compile the kernels and they are tested without a GPU. block.h runs a block. All
// calls are synchronous and in order; a stream only records graphs.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "block.h"

#define __global__
#define __device__
#define __host__
#define __shared__ static  // one block at a time
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __launch_bounds__(...)

// ---- types

struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

struct dim3 {
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  unsigned x, y, z;
};
inline dim3 threadIdx, blockIdx, blockDim, gridDim;

// ---- functions of a thread

template <typename T>
T __ldg(const T* from) {
  return *from;
}
template <typename T>
T __ldcs(const T* from) {
  return *from;
}
template <typename T>
void __stcs(T* to, T value) {
  *to = value;
}
template <typename T>
void __stcg(T* to, T value) {
  *to = value;
}
inline float __fmaf_rn(float a, float b, float c) { return std::fma(a, b, c); }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fdividef(float a, float b) { return a / b; }
inline float __cosf(float x) { return std::cos(x); }
inline float cospif(float x) {
  return static_cast<float>(std::cos(3.14159265358979323846 * std::fmod(double{x}, 2.0)));
}
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline std::uint32_t __float_as_uint(float x) { return std::bit_cast<std::uint32_t>(x); }
inline float __uint_as_float(std::uint32_t x) { return std::bit_cast<float>(x); }
inline int __popc(unsigned x) { return std::popcount(x); }
// The upper half of (high, low) shifted left.
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) << (shift % 32) >> 32);
}
template <typename T>
T min(T a, T b) {
  return b < a ? b : a;
}
template <typename T>
T max(T a, T b) {
  return a < b ? b : a;
}
using std::abs, std::isfinite;

// ---- functions of a block or a warp

inline void __syncthreads() { on_cpu::wait_for_block(); }
inline void __syncwarp() {
  on_cpu::Nothing mine;
  on_cpu::together(mine, [](on_cpu::Nothing* const*, unsigned) {});
}

namespace on_cpu {

template <typename T>
struct Shuffle {
  T value;
  int from;
  T result;
};
template <typename T>
T shuffle(T value, int from) {
  Shuffle<T> mine{value, from, T{}};
  together(mine, [](Shuffle<T>* const* lane, unsigned active) {
    for (int i = 0; i < kLanes; ++i) {
      if (active >> i & 1) lane[i]->result = lane[lane[i]->from]->value;
    }
  });
  return mine.result;
}

struct Vote {
  bool mine;
  unsigned all;
};
inline unsigned vote(bool yes) {
  Vote mine{yes, 0};
  together(mine, [](Vote* const* lane, unsigned active) {
    unsigned all = 0;
    for (int i = 0; i < kLanes; ++i) {
      if (active >> i & 1) all |= static_cast<unsigned>(lane[i]->mine) << i;
    }
    for (int i = 0; i < kLanes; ++i) {
      if (active >> i & 1) lane[i]->all = all;
    }
  });
  return mine.all;
}

}  // namespace on_cpu

template <typename T>
T __shfl_sync(unsigned, T value, int from) {
  return on_cpu::shuffle(value, from);
}
template <typename T>
T __shfl_xor_sync(unsigned, T value, int with) {
  return on_cpu::shuffle(value, on_cpu::this_lane() ^ with);
}
inline unsigned __ballot_sync(unsigned, bool yes) { return on_cpu::vote(yes); }
inline bool __any_sync(unsigned, bool yes) { return on_cpu::vote(yes) != 0; }

// ---- the host's side

enum cudaError_t {
  cudaSuccess,
  cudaErrorNoDevice,
  cudaErrorInsufficientDriver,
  cudaErrorMemory,
  cudaErrorUnjoined,
  cudaErrorNotReady
};
inline const char* cudaGetErrorString(cudaError_t) { return "out of memory"; }
inline const char* cudaGetErrorName(cudaError_t) { return "cudaErrorMemory"; }

struct cudaDeviceProp {
  int major, minor;
  char name[32];
};
enum { cudaDevAttrMaxSharedMemoryPerBlockOptin };
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, int attribute, int device);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);

enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice };
enum { cudaHostAllocMapped };
// The memory starts as NaNs.
cudaError_t cudaMalloc(void** to, std::size_t bytes);
template <typename T>
cudaError_t cudaMalloc(T** to, std::size_t bytes) {
  return cudaMalloc(reinterpret_cast<void**>(to), bytes);
}
cudaError_t cudaFree(void* memory);
cudaError_t cudaHostAlloc(void** to, std::size_t bytes, unsigned);
cudaError_t cudaFreeHost(void* memory);

// A graph is a list of launches, each with the launches that it waits for.
namespace on_cpu {
struct Graph;
// Numbers of the launches that the next one waits for.
using Before = std::set<std::size_t>;
struct Stream {
  Graph* recording = nullptr;
  Before before;
};
struct Event {
  Graph* recorded = nullptr;
  Before before;
};
// `bytes` of shared memory per block
void launch(Stream* stream, dim3 blocks, dim3 threads, std::size_t bytes,
            std::function<void()> thread);
}  // namespace on_cpu
using cudaStream_t = on_cpu::Stream*;
using cudaEvent_t = on_cpu::Event*;
using cudaGraph_t = on_cpu::Graph*;
using cudaGraphExec_t = on_cpu::Graph*;

enum { cudaStreamNonBlocking, cudaEventDisableTiming, cudaStreamCaptureModeThreadLocal };
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaEventCreate(cudaEvent_t* event);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, unsigned);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable);
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream);

enum { cudaFuncAttributeMaxDynamicSharedMemorySize };
template <typename Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, int, int bytes) {
  return static_cast<std::size_t>(bytes) <= on_cpu::kBlockMemory ? cudaSuccess : cudaErrorMemory;
}
template <typename... Parameters>
cudaError_t cudaLaunchKernel(void (*kernel)(Parameters...), dim3 blocks, dim3 threads,
                             void** arguments, std::size_t bytes, cudaStream_t stream) {
  const auto values = [&]<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
    return std::tuple<Parameters...>(*static_cast<Parameters*>(arguments[kIndex])...);
  }
  (std::index_sequence_for<Parameters...>());
  on_cpu::launch(stream, blocks, threads, bytes, [=] { std::apply(kernel, values); });
  return cudaSuccess;
}
