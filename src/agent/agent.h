// One agent: it acts, remembers and learns. Actions are in [-1, 1]. Training uses this interface
// alone; the two kinds of agents are actor_critic/agent.h and discrete/agent.h. Knows nothing about
// environments or files.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ovde/explorer.h>
#include <ovde/random.h>
#include "agent/algorithm.h"
#include "agent/learning.h"
#include "agent/replay.h"

namespace ovde {

// How the behaviour policy differs from the policy at one step. NaN: the algorithm has no such
// number.
struct Decision {
  double m = std::numeric_limits<double>::quiet_NaN();  // OVD-Explorer's weight of the step
  double shift = 0;  // distance by which the mean was moved, before the squash
  // that move in standard deviations of a Gaussian policy, for each action dimension; valid until
  // the next decision; empty: no explorer moved the mean
  std::span<const double> step = {};
};

// The networks' outputs at one observation, from which a behaviour policy draws its action. Refers
// to memory of the agent or of the GPU's host buffers.
struct Proposal {
  // with an actor, before the squash: the policy's Gaussian, and its mean as the explorer moves it
  std::span<const double> mean = {}, std = {}, moved = {};
  double m = std::numeric_limits<double>::quiet_NaN();  // see Decision
  int choice = 0;  // with discrete actions: the action's number
};

// The host's side of an agent whose networks act and learn on a GPU, for train/lockstep_group.cpp
// and cuda/population.h. On the CPU Agent::explore() and Agent::update() are all that is needed.
class HostSide {
 public:
  virtual ~HostSide() = default;

  // explore() in two steps: the networks' outputs, valid until the next call, and the action drawn
  // from them. `input`: the observation as to_input() writes it.
  virtual Proposal propose(std::span<const float> input, bool plain) = 0;
  virtual Decision decide(const Proposal& proposal, bool plain, std::span<double> action) = 0;

  // Whether the scout's networks act in this episode.
  virtual bool scout_acts() const { return false; }
  virtual void let_scout_act(bool /*acts*/) {}
  // The optimism that a bandit chose for the updates to come; empty: critic.optimism.
  virtual std::optional<float> chosen_optimism() const { return {}; }
  virtual void set_optimism(float /*optimism*/) {}
  // The factor of the rewards in the updates to come (reward_scale.h).
  virtual float reward_scale() const { return 1; }
  virtual void set_reward_scale(float /*factor*/) {}
};

// The networks of a policy, for a file that keeps it. Refers to the agent's memory.
struct PolicyContents {
  struct Network {
    std::string name;
    MlpShape shape;
    std::span<const float> parameters;
  };
  std::vector<Network> networks;
  std::optional<int> bins = {};  // values of each action dimension, where actions are discrete
  // networks take (x - mean) * scale: all means, then all scales; empty: the observation itself
  std::span<const float> scaling = {};
  LogStdForm log_std = LogStdForm::clamped;  // the actor's
};

class Agent {
 public:
  virtual ~Agent() = default;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // The team that acting may use from now on; null: none. It must outlive its use.
  virtual void use(Team* team) = 0;

  // explore(), remember() and give_up_episode() concern this one of train.envs environments from
  // now on.
  void use_environment(int number) { environment_ = number; }

  // The action of the trained policy.
  virtual void act(std::span<const double> observation, std::span<double> action) = 0;
  // An action of the behaviour policy; with `plain`, that of the warm-up, which does not use the
  // critics.
  virtual Decision explore(std::span<const double> observation, bool plain,
                           std::span<double> action) = 0;

  // Both critics' quantiles at an action; valid until the next call of any kind. Null: the critics
  // do not evaluate every action.
  virtual const QuantilePair* quantiles(std::span<const double> /*observation*/,
                                        std::span<const double> /*action*/) {
    return nullptr;
  }

  // `last`: the episode ends with this step.
  void remember(std::span<const double> observation, std::span<const double> action, double reward,
                std::span<const double> next_observation, bool terminal, bool last);
  // The episode in progress is not continued. The caller marks its last row (Replay::cut_off).
  void give_up_episode() { end_episode(false); }

  // From now on networks take (x - mean) / deviation of an observation x, if
  // train.normalise_observations; call it before anything is remembered. A deviation close to 0
  // counts as 1.
  void set_scaling(std::span<const double> mean, std::span<const double> deviation);
  // Writes an observation as the networks take it.
  void to_input(std::span<const double> observation, std::span<float> input) const;

  virtual UpdateReport update(Team& team) = 0;
  virtual ValueReport value_report() const = 0;  // at the last update's batch
  virtual std::uint64_t updates() const = 0;
  // Multiply-adds, counted as two, of the matrix products of one update.
  virtual double flop_per_update() const = 0;

  // After writing into state() call restored(), or policy_restored() if only the policy's networks
  // and the number of updates were written and the agent is only to act().
  virtual LearnerState state() = 0;
  virtual void restored() = 0;
  virtual void policy_restored() = 0;
  virtual PolicyContents policy() const = 0;

  virtual HostSide& host_side() = 0;

  const AgentOptions& options() const { return options_; }
  Replay& replay() { return replay_; }
  const Replay& replay() const { return replay_; }
  // The streams that acting draws from.
  Random& behaviour_noise() { return behaviour_noise_; }
  Random& explorer_noise() { return explorer_noise_; }

 protected:
  explicit Agent(const AgentOptions& options);

  // Hooks of remember() and give_up_episode(). `complete`: the episode was seen to its end.
  virtual void add_reward(double /*reward*/) {}
  virtual void end_episode(bool /*complete*/) {}

  int environment() const { return environment_; }
  std::span<const float> scaling() const { return scaling_; }
  void add_scaling_state(LearnerState& state);

 private:
  AgentOptions options_;
  Replay replay_;
  std::vector<float> scaling_;  // all means, then all scales; empty: observations stay as they are
  Random behaviour_noise_, explorer_noise_;
  int environment_ = 0;
};

// The kind of agent that the algorithm needs.
std::unique_ptr<Agent> make_agent(const AgentOptions& options);

}  // namespace ovde
