// The updates of a population as a CUDA graph, which is captured once and launched for every
// update.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <memory>
#include <span>

#include "cuda/agent.h"

namespace ovde::cuda {

// The largest get(value); at least 1.
template <typename Value, typename Get>
int largest(std::span<const Value> values, Get&& get) {
  int most = 1;
  for (const Value& value : values) most = std::max(most, get(value));
  return most;
}

class UpdateGraph {
 public:
  // Agents on the device, and their constants: first those with an actor, then those over a grid of
  // actions, then optimists in the order of their owners. owners: where these are among the agents.
  // exact: products in fp32 instead of fp16.
  UpdateGraph(const Agent* agents, std::span<const AgentSpec> specs, std::span<const int> owners,
              bool exact);
  ~UpdateGraph();

  // Makes the fp16 copies of the networks, after the host has written parameters.
  void copy_networks(cudaStream_t stream) const;
  void launch(int updates, cudaStream_t stream) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ovde::cuda
