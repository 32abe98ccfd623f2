// The updates of a population as a graph of kernels, which is captured once and launched as often
// as there are updates.
#pragma once

#include <memory>
#include <span>

#include "cuda/launch.cuh"
#include "cuda/layout.h"

namespace ovde::cuda {

class UpdateGraph {
 public:
  // Agents as they lie on the device, and what they are like: first those with an actor, then those
  // over a grid of actions, then optimists in the order of their owners. owners: where these are
  // among the agents.
  UpdateGraph(const Agent* agents, std::span<const AgentSpec> specs, std::span<const int> owners,
              bool exact);
  ~UpdateGraph();

  // The fp16 copies of the networks, after they were written from outside.
  void copy_networks(cudaStream_t stream) const;
  void launch(int updates, cudaStream_t stream) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ovde::cuda
