// CUDA resources that are released with the object that holds them: memory, streams, events and
// graphs.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "cuda/kernels/launch.cuh"

namespace ovde::cuda {

struct Release {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
struct FreeDevice {
  void operator()(void* memory) const { cudaFree(memory); }
};
struct FreeHost {
  void operator()(void* memory) const { cudaFreeHost(memory); }
};
template <typename Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Release>;

inline Owned<cudaStream_t> make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return Owned<cudaStream_t>(stream);
}

inline Owned<cudaEvent_t> make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  return Owned<cudaEvent_t>(event);
}

// Work enqueued on `stream` from now on waits for the work that is on `other` now.
inline void wait_for(cudaStream_t stream, cudaStream_t other, const Owned<cudaEvent_t>& event) {
  check(cudaEventRecord(event.get(), other), "cudaEventRecord");
  check(cudaStreamWaitEvent(stream, event.get()), "cudaStreamWaitEvent");
}

// A stream with copies on it. The host's values must stay as they are until wait().
class DeviceStream {
 public:
  template <typename T>
  void write(std::span<T> device, std::span<const std::type_identity_t<T>> values) {
    copy(device, values, cudaMemcpyHostToDevice, "cudaMemcpy to the GPU");
  }
  template <typename T>
  void read(std::span<T> values, std::span<const std::type_identity_t<T>> device) {
    copy(values, device, cudaMemcpyDeviceToHost, "cudaMemcpy from the GPU");
  }
  void wait() const { check(cudaStreamSynchronize(stream_.get()), "waiting for the GPU"); }
  // Whether its work is done.
  bool is_done() const {
    const cudaError_t state = cudaStreamQuery(stream_.get());
    if (state != cudaErrorNotReady) check(state, "waiting for the GPU");
    return state == cudaSuccess;
  }
  cudaStream_t get() const { return stream_.get(); }

 private:
  template <typename T>
  void copy(std::span<T> to, std::span<const T> from, cudaMemcpyKind kind, const char* call) {
    if (to.size() != from.size()) throw Error("CUDA: an array of the wrong length");
    check(cudaMemcpyAsync(to.data(), from.data(), to.size_bytes(), kind, stream_.get()), call);
  }

  Owned<cudaStream_t> stream_ = make_stream();
};

template <typename T>
using DeviceArray = std::unique_ptr<T, FreeDevice>;

template <typename T>
DeviceArray<T> make_device_array(std::size_t size) {
  T* memory = nullptr;
  check(cudaMalloc(&memory, size * sizeof(T)), "cudaMalloc");
  return DeviceArray<T>(memory);
}

// Device memory that is handed out from its beginning. Without memory it only counts.
class Arena {
 public:
  explicit Arena(char* base) : base_(base) {}
  template <typename T = float>
  T* take(std::size_t count) {
    T* at = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + used_);
    used_ += (count * sizeof(T) + kAlign - 1) / kAlign * kAlign;
    return at;
  }
  std::size_t used() const { return used_; }  // bytes

 private:
  static constexpr std::size_t kAlign = 256;
  char* base_;
  std::size_t used_ = 0;
};

// The graph of the work that was captured on `stream`.
inline Owned<cudaGraphExec_t> end_capture(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  const cudaError_t status = cudaGraphInstantiate(&executable, graph, 0);
  cudaGraphDestroy(graph);
  check(status, "cudaGraphInstantiate");
  return Owned<cudaGraphExec_t>(executable);
}

// Host memory that the device reads and writes in place, at the same addresses, for small
// exchanges. Starts as zeros.
class MappedMemory {
 public:
  template <typename T>
  std::span<T> take(std::size_t size) {
    void* memory = nullptr;
    check(cudaHostAlloc(&memory, size * sizeof(T), cudaHostAllocMapped), "cudaHostAlloc");
    arrays_.emplace_back(memory);
    std::memset(memory, 0, size * sizeof(T));
    return {static_cast<T*>(memory), size};
  }

 private:
  std::vector<std::unique_ptr<void, FreeHost>> arrays_;
};

}  // namespace ovde::cuda
