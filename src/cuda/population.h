// A population of agents whose learning and acting happen on one GPU. The agents keep their host
// side (replay buffer, random streams, checkpoints); here are the copies of their learners that are
// updated. Knows nothing of environments or files.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/explore/explorer.h"
#include "base/precision.h"

namespace ovde {

// Empty: this build has the GPU code and finds a GPU it can use. Otherwise why not.
std::string why_no_gpu();
std::string gpu_name();

// Of `steps` updates: means of the losses, and the values at the last one's batch.
struct PopulationReport {
  UpdateReport update;
  ValueReport value;
  std::uint64_t first_bad = 0;  // the first update (from 1) whose loss was not finite; 0: none
};

// One row for each agent, filled before and read after act().
struct PopulationActing {
  int observations, actions, samples, fractions;  // length of a row: the largest of any agent
  std::span<float> observation;
  // what the explorer draws from its stream: a number U(0, 1) for each quantile where its critics
  // have random fractions, then as many standard normal numbers as it takes samples
  std::span<float> fraction;
  std::span<double> explorer_noise;
  std::span<bool> plain;                     // the policy alone
  std::span<bool> scouts;                    // the scout acts, where there is one
  std::span<const double> mean, std, moved;  // before the squash; moved: by the explorer
  std::span<const double> m;
  std::span<const int> choice;  // of an agent over discrete actions
};

// InputError, with those that do, if an agent's algorithm does not run on a GPU.
void check_algorithms(std::span<const AgentOptions> agents);

// The explorer of an algorithm that runs on a GPU; of one over discrete actions none, which has a
// rule of its own.
DeviceRule device_rule(const AgentOptions& options);

// How many numbers an explorer draws for an action: U(0, 1) for fractions, then standard normal.
struct ExplorerDraws {
  int fractions;
  bool random_fractions;
  int samples;
};
ExplorerDraws explorer_draws(const AgentOptions& options);

// What the explorer of agent number `index` draws for its next action, as on the CPU.
void draw_for_explorer(const ExplorerDraws& draws, int index, Random& random,
                       const PopulationActing& acting);

class GpuPopulation {
 public:
  virtual ~GpuPopulation() = default;

  // What agent number `index` has learnt and its replay buffer, to the GPU; what it has learnt,
  // back.
  virtual void upload(int index, Agent& agent) = 0;
  virtual void download(int index, Agent& agent) = 0;

  // The same for the parameters of the policies and the number of updates alone, of all agents:
  // what the trained policy needs.
  virtual void download_policies(std::span<Agent* const> agents) = 0;

  // Rows added to an agent's replay buffer since it was last uploaded.
  virtual void add_rows(int index, const Replay& replay) = 0;

  // Of an agent's critics, in the updates to come.
  virtual void set_optimism(int index, float optimism) = 0;

  virtual const PopulationActing& acting() const = 0;
  virtual void act() = 0;

  // Puts n updates of every agent on their way; finish() waits for them, unless they are done.
  virtual void update(int n) = 0;
  virtual bool is_done() = 0;
  virtual std::vector<PopulationReport> finish() = 0;

  // Bytes that an update must move at least: every parameter, moment and target read and written
  // once, and the batch.
  virtual double bytes_per_update() const = 0;
};

// InputError, with what would be possible, if there is no GPU, an agent cannot be put on one, or
// they do not fit into its memory together. Builds nothing.
void check_gpu_population(std::span<const AgentOptions> agents, Precision precision);

// InputError as above.
std::unique_ptr<GpuPopulation> make_gpu_population(std::span<const AgentOptions> agents,
                                                   Precision precision);

// What the GPU can do at most, measured now: operations of products per second and bytes moved per
// second.
struct GpuCeilings {
  double flops, bytes;
};
GpuCeilings measure_gpu();

}  // namespace ovde
