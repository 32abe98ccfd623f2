// Streams, events and graphs that are destroyed with what holds them.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <type_traits>

#include "cuda/check.h"

namespace ovde::cuda {

struct Destroy {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
  void operator()(cudaEvent_t event) const { cudaEventDestroy(event); }
  void operator()(cudaGraphExec_t graph) const { cudaGraphExecDestroy(graph); }
};
template <typename Handle>
using Own = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy>;

inline Own<cudaStream_t> make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
  return Own<cudaStream_t>(stream);
}

inline Own<cudaEvent_t> make_event() {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreate");
  return Own<cudaEvent_t>(event);
}

// What is enqueued on `stream` from here on waits for what is on `other` now.
inline void wait_for(cudaStream_t stream, cudaStream_t other, const Own<cudaEvent_t>& event) {
  check(cudaEventRecord(event.get(), other), "cudaEventRecord");
  check(cudaStreamWaitEvent(stream, event.get()), "cudaStreamWaitEvent");
}

}  // namespace ovde::cuda
