// The part that both kinds of populations share: the rows of acting, and copies of the learners
// between host and device. Knows nothing of how they are computed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cuda/agent.h"
#include "cuda/host/handles.h"
#include "cuda/population.h"

namespace ovde::cuda {

// InputError, with how many would fit, if agents that need these bytes do not fit into the GPU's
// free memory together.
void check_memory(std::span<const double> bytes);

// Adds the arrays of a network on the device.
void add_network(const std::string& name, const Network& net, int size, StateArrays& arrays);

// Any call may throw Error, naming the CUDA call that failed.
class DevicePopulation : public GpuPopulation {
 public:
  void upload(int index, ovde::Agent& agent) override;
  void download(int index, ovde::Agent& agent) override;
  void download_policies(std::span<ovde::Agent* const> agents) override;
  void add_rows(int index, const Replay& replay) override;
  void set_reward_scale(int index, float factor) override;
  const PopulationActing& acting() const override { return acting_; }

 protected:
  // A learner on the device: an agent's own, its scout or its optimist.
  struct Learner {
    int agent;           // number of the agent
    std::string prefix;  // the beginning of its names in a LearnerState
    StateArrays arrays = {};
    double* statistics = nullptr;  // its bonus's RndStatistics; null: it has none
    float* replay = nullptr;       // the agent's replay buffer; needed for its own learner alone
  };

  // `rows`: the number of rows of acting, at least one for each agent.
  DevicePopulation(std::span<const AgentOptions> agents, std::size_t rows);

  int agents() const { return static_cast<int>(learners_of_.size()); }

  // The agents' own learners come first, in the order of the agents.
  void add_learner(Learner learner);
  // The numbers of an agent's learners, its own first.
  const std::vector<int>& learners_of(int agent) const { return learners_of_[agent]; }
  // Called when the host has written parameters of a learner.
  virtual void parameters_changed(int learner) = 0;

  // Clears the losses; n updates follow.
  void begin_updates(int n);
  // The number of batches of transitions that a learner's bonus has yet to observe; from now on
  // they count as observed. At least one: an empty batch computes the scales from uploaded
  // statistics.
  std::int64_t unseen_batches(int learner, int batch);
  // The reports of all agents, without their values.
  std::vector<PopulationReport> reports() const;

  DeviceStream stream_;
  MappedMemory mapped_;
  PopulationActing acting_;
  std::vector<Progress> progress_;  // each learner's, as of the last finish()

 private:
  std::vector<PolicyKind> policies_;  // each agent's
  std::vector<Learner> learners_;
  std::vector<std::vector<int>> learners_of_;
  std::vector<std::int64_t> observed_;  // number of the first row that a bonus has not observed
  std::vector<std::int64_t> uploaded_;  // number of the first row that is not on the device
  int updates_ = 1;
};

// A population of agents with multi-layer perceptrons. InputError if an agent cannot be put on a
// GPU or the agents do not fit into its memory.
void check_population(std::span<const AgentOptions> agents, Precision precision);
std::unique_ptr<GpuPopulation> make_population(std::span<const AgentOptions> agents,
                                               Precision precision);

// The same for residual networks.
namespace residual {
void check_population(std::span<const AgentOptions> agents, Precision precision);
std::unique_ptr<GpuPopulation> make_population(std::span<const AgentOptions> agents,
                                               Precision precision);
}  // namespace residual

}  // namespace ovde::cuda
