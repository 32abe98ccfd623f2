// A population of agents that learn and act on one GPU. The agents keep their replay buffers,
// random streams and checkpoints on the host; the GPU has copies of their learners. Does not know
// environments or files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "agent/agent.h"
#include "agent/explore/explorer.h"
#include "base/precision.h"
#include "cuda/gpu.h"

namespace ovde {

// Mean losses since the last finish(), and the values at the last update's batch.
struct PopulationReport {
  UpdateReport update;
  ValueReport value;
  std::uint64_t first_bad = 0;  // first update (from 1) with a loss that is not finite; 0: none
};

// InputError, with the algorithms that do, if an agent's algorithm does not run on a GPU.
void check_algorithms(std::span<const AgentOptions> agents);

// The explorer's rule for a GPU; none for discrete actions, whose rule is ids.
DeviceRule device_rule(const AgentOptions& options);

// The numbers that an explorer draws for an action: U(0, 1) for fractions, then standard normal.
struct ExplorerDraws {
  int fractions;
  bool random_fractions;
  int samples;
};
ExplorerDraws explorer_draws(const AgentOptions& options);

// Draws the numbers for the next action of agent number `index`, the same as on the CPU.
void draw_for_explorer(const ExplorerDraws& draws, int index, Random& random,
                       const PopulationActing& acting);

class GpuPopulation {
 public:
  virtual ~GpuPopulation() = default;

  // Copies the learner of agent number `index`, and its replay buffer, to the GPU.
  virtual void upload(int index, Agent& agent) = 0;
  // Copies that learner back.
  virtual void download(int index, Agent& agent) = 0;

  // Copies the policies' parameters and the numbers of updates of all agents back, as
  // Agent::policy_restored() expects them.
  virtual void download_policies(std::span<Agent* const> agents) = 0;

  // Copies the rows that were added to an agent's replay buffer since the last upload.
  virtual void add_rows(int index, const Replay& replay) = 0;

  // Sets the optimism of an agent's critics for the next updates.
  virtual void set_optimism(int index, float optimism) = 0;

  // Sets the factor of an agent's rewards for the next updates.
  virtual void set_reward_scale(int index, float factor) = 0;

  virtual const PopulationActing& acting() const = 0;
  virtual void act() = 0;

  // Starts n updates of every agent; finish() waits until they are done.
  virtual void update(int n) = 0;
  virtual bool is_done() = 0;
  virtual std::vector<PopulationReport> finish() = 0;

  // The least number of bytes that an update moves: every parameter, moment and target read and
  // written once, and the batch.
  virtual double bytes_per_update() const = 0;
};

// InputError, with the possible alternatives, if there is no GPU, an agent cannot be put on one, or
// the agents do not fit into its memory together. Builds nothing.
void check_gpu_population(std::span<const AgentOptions> agents, Precision precision);

// InputError as above.
std::unique_ptr<GpuPopulation> make_gpu_population(std::span<const AgentOptions> agents,
                                                   Precision precision);

}  // namespace ovde
