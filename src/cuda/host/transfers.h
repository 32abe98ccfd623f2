// Copies between the host's agents and the device, and the parts of a learner's state that both
// kinds of populations copy.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

#include <ovde/error.h>
#include "agent/learning.h"
#include "cuda/agent.h"
#include "cuda/host/handles.h"

namespace ovde::cuda {

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

// Empty if the learner has no such array.
inline std::span<float> array(const LearnerState& state, const std::string& name) {
  for (const auto& [key, values] : state.arrays) {
    if (key == name) return values;
  }
  return {};
}

// Adds the arrays of a network on the device.
inline void add_network(const std::string& name, const Network& net, int size,
                        StateArrays& arrays) {
  for_each_network_array(name, net, [&](const std::string& array, float* values) {
    arrays.push_back({array, {values, static_cast<std::size_t>(size)}});
  });
}

// Calls visit(device, values) for the statistics of a bonus, whose names begin with
// prefix + "rnd.". `device`: where they begin (RndStatistics).
template <typename Visit>
void for_each_rnd_statistic(const LearnerState& state, const std::string& prefix, double* device,
                            Visit&& visit) {
  for (const auto& [name, values] : state.statistics) {
    if (!name.starts_with(prefix + "rnd.")) continue;
    visit(std::span(device, values.size()), values);
    device += values.size();
  }
}

// The number of the first transition that a learner's bonus has not observed.
inline std::int64_t observed_rows(const LearnerState& state, const std::string& prefix) {
  for (const auto& [name, values] : state.statistics) {
    if (name == prefix + "rnd.next_row") return static_cast<std::int64_t>(values[0]);
  }
  return 0;
}

// The number of batches of transitions that a bonus has yet to observe. At least one: an empty
// batch computes the scales from uploaded statistics.
inline std::int64_t unseen_batches(const Progress& progress, int batch, std::int64_t& observed) {
  const auto added = static_cast<std::int64_t>(progress.replay_added);
  const std::int64_t unseen =
      std::min(added - observed, static_cast<std::int64_t>(progress.replay_rows));
  observed = added;
  return std::max<std::int64_t>((unseen + batch - 1) / batch, 1);
}

}  // namespace ovde::cuda
