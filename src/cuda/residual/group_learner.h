// The networks, replay buffers and counters of a group of agents (group.h) on the GPU, and their
// updates as CUDA graphs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "agent/learning.h"
#include "cuda/residual/act.h"
#include "cuda/residual/group.h"

namespace ovde::cuda::residual {

class GroupLearner {
 public:
  virtual ~GroupLearner() = default;

  // Device memory of one agent: the arrays of its networks, with their names in a LearnerState, and
  // its replay buffer.
  virtual StateArrays arrays(int agent) const = 0;
  virtual float* replay(int agent) const = 0;
  virtual std::span<Progress> progress() const = 0;
  // The RndStatistics of an agent's bonus; null: it has none.
  virtual double* bonus_statistics(int agent) const = 0;
  // Enqueues means of the values at the last batch for which the actor moved. Returns where they
  // will be, one for each agent.
  virtual std::span<const ValueReport> value_means(cudaStream_t stream) const = 0;

  // The bonuses' statistics follow one batch of the transitions that were added.
  virtual void observe(cudaStream_t stream) = 0;

  // Must be called after the host has written parameters.
  virtual void networks_changed() = 0;

  // Enqueues n updates; `done` updates have been made before.
  virtual void update(int n, std::uint64_t done, cudaStream_t stream) = 0;
  virtual void act(const ActRows& rows, bool explores, cudaStream_t stream) const = 0;
};

// bonus: constants of the agents' bonus, which may have none (bonus_spec()). replays: the rows that
// scouts learn from. exact: products in fp32 instead of fp16.
std::unique_ptr<GroupLearner> make_group_learner(const GroupSpec& spec, const AgentSpec& bonus,
                                                 std::span<const std::uint64_t> seeds,
                                                 std::span<float* const> replays, bool exact);
std::size_t group_bytes(const GroupSpec& spec, const AgentSpec& bonus, bool exact);

}  // namespace ovde::cuda::residual
