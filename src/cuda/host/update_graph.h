// The updates of a population as a CUDA graph, which is captured once and launched for every
// update.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "cuda/host/handles.h"
#include "cuda/kernels/update.cuh"

namespace ovde::cuda {

// The largest of get(value) over the values, at least 1.
template <typename Value, typename Get>
int largest(std::span<const Value> values, Get&& get) {
  int most = 1;
  for (const Value& value : values) most = std::max(most, get(value));
  return most;
}

// Agents that are updated together, side by side with other groups.
struct UpdateGroup {
  UpdatePlan plan = {};           // agents with an actor
  GridPlan grid = {};             // agents over a grid of actions
  int first = 0;                  // agent, in the order of updates
  UpdatePlan optimist_plan = {};  // the agents' optimists
  int first_optimist = 0;

  bool has_bonus() const { return plan.rnd_tiles > 0; }
};

class UpdateGraph {
 public:
  // Agents on the device, and their constants: first those with an actor, then those over a grid of
  // actions, then optimists in the order of their owners. owners: where these are among the agents.
  // exact: products in fp32 instead of fp16.
  UpdateGraph(const Agent* agents, std::span<const AgentSpec> specs, std::span<const int> owners,
              bool exact);

  // Makes the fp16 copies of the networks, after the host has written parameters.
  void copy_networks(cudaStream_t stream) const;
  void launch(int updates, cudaStream_t stream) const;

 private:
  Owned<cudaGraphExec_t> capture(int updates) const;

  const Agent* agents_;
  std::vector<UpdateGroup> groups_;
  Owned<cudaGraphExec_t> one_, many_;
};

}  // namespace ovde::cuda
