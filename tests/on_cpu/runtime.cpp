// The host's side of cuda_runtime.h.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "cuda_runtime.h"

namespace on_cpu {

struct Launch {
  dim3 blocks, threads;
  std::size_t bytes;
  std::function<void()> thread;
  Before before;
};
struct Graph {
  std::vector<Launch> launches;
  std::vector<Stream*> branches;  // streams that record into it
};

namespace {

void run(const Launch& launch) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const dim3& n = launch.blocks;
  for (unsigned z = 0; z < n.z; ++z) {
    for (unsigned y = 0; y < n.y; ++y) {
      for (unsigned x = 0; x < n.x; ++x)
        run_block({{x, y, z}, {n.x, n.y, n.z}, launch.threads.x, launch.bytes}, launch.thread);
    }
  }
}

// Runs the launches in the order of recording; every second time always the last of those that are
// ready, since branches that do not wait for each other may run in any order.
void run(const Graph& graph) {
  static std::atomic<bool> last_first = false;
  if (!last_first.exchange(!last_first)) {
    for (const Launch& launch : graph.launches) run(launch);
    return;
  }
  std::vector<bool> is_done(graph.launches.size());
  for (std::size_t left = is_done.size(); left > 0; --left) {
    std::size_t next = is_done.size();
    const auto waits = [&](const Launch& launch) {
      return std::ranges::any_of(launch.before, [&](std::size_t i) { return !is_done[i]; });
    };
    do --next;
    while (is_done[next] || waits(graph.launches[next]));
    run(graph.launches[next]);
    is_done[next] = true;
  }
}

// Whether all launches of a graph come before those in `before`, or are among them.
bool is_joined(const Graph& graph, Before before) {
  for (std::size_t i = graph.launches.size(); i-- > 0;) {
    if (!before.contains(i)) return false;
    before.insert(graph.launches[i].before.begin(), graph.launches[i].before.end());
  }
  return true;
}

}  // namespace

void launch(Stream* stream, dim3 blocks, dim3 threads, std::size_t bytes,
            std::function<void()> thread) {
  Launch one{blocks, threads, bytes, std::move(thread), {}};
  if (stream == nullptr || stream->recording == nullptr) return run(one);
  auto& launches = stream->recording->launches;
  one.before = std::exchange(stream->before, {launches.size()});
  launches.push_back(std::move(one));
}

}  // namespace on_cpu

using namespace on_cpu;

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {9, 0, "a CPU"};
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, int, int) {
  *value = kBlockMemory;
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = std::size_t{8} << 30;
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** to, std::size_t bytes) {
  *to = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (*to == nullptr) return cudaErrorMemory;
  std::memset(*to, 0xff, bytes);
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** to, std::size_t bytes, unsigned) { return cudaMalloc(to, bytes); }
cudaError_t cudaFreeHost(void* memory) { return cudaFree(memory); }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new Stream;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamQuery(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t* event) {
  *event = new Event;
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  return cudaEventCreate(event);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 1;
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t) {
  std::memcpy(to, from, bytes);
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}

// A stream that waits for an event of a recorded stream is recorded into the same graph.
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  event->recorded = stream != nullptr ? stream->recording : nullptr;
  if (event->recorded != nullptr) event->before = stream->before;
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event) {
  Graph* graph = event->recorded;
  if (graph == nullptr) return cudaSuccess;
  stream->before.insert(event->before.begin(), event->before.end());
  if (stream->recording == graph) return cudaSuccess;
  stream->recording = graph;
  graph->branches.push_back(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, unsigned) {
  *stream = {new Graph{{}, {stream}}, {}};
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  *graph = stream->recording;
  const bool joined = is_joined(**graph, stream->before);
  for (Stream* branch : (*graph)->branches) *branch = {};
  return joined ? cudaSuccess : cudaErrorUnjoined;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned) {
  *executable = new Graph{graph->launches, {}};
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return cudaGraphDestroy(executable);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t) {
  run(*executable);
  return cudaSuccess;
}
