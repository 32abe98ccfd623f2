// One agent of a run at work: the agent, its two environments and where it is in the protocol.
// Knows nothing of files; what it returns is written by the trainer.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <ovde/env.h>
#include "agent/agent.h"
#include "math/team.h"
#include "train/config.h"
#include "train/metrics.h"

namespace ovde {

class AgentRun {
 public:
  AgentRun(const Config& config, std::uint64_t seed);

  // One epoch of the protocol: evaluate the current policy, collect n steps with the behaviour
  // policy, do n updates. The first one begins with the warm-up. Error if a number stops being
  // finite or the environment fails; it says which and where.
  EpochRow epoch(Team& team);

  int epochs_done() const { return epochs_done_; }
  const Agent& agent() const { return *agent_; }
  Agent& agent() { return *agent_; }
  std::uint64_t seed() const { return seed_; }

 private:
  // Sums over what was collected in one epoch.
  struct Collected {
    std::int64_t episodes = 0, successes = 0, steps = 0;
    double returns = 0, m = 0, shift = 0;
  };

  void start_episode();
  void collect(std::int64_t steps, bool warm_up, Collected& collected);
  void evaluate_policy(EpochRow& row);
  void learn(std::int64_t updates, Team& team, EpochRow& row);
  void check_parameters() const;
  std::string where() const;  // task, seed and step, for messages

  Config config_;
  std::uint64_t seed_;
  bool has_goal_;
  std::unique_ptr<Env> env_, evaluation_env_;
  std::unique_ptr<Agent> agent_;

  // where the run is
  int epochs_done_ = 0;
  std::int64_t env_steps_ = 0;
  Random episode_seeds_;

  // the exploring episode in progress; it goes on from one epoch to the next
  bool in_episode_ = false;
  double episode_return_ = 0;
  bool episode_success_ = false;
  std::vector<double> observation_;

  std::vector<double> next_observation_, action_;
};

}  // namespace ovde
