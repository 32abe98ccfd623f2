// One agent: it acts, remembers and learns. Actions are in [-1, 1]. This is all that training sees
// of it; what it learns, and how, is its kind's: actor_critic/agent.h, discrete/agent.h. Knows
// nothing of environments or files.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ovde/explorer.h>
#include <ovde/option.h>
#include <ovde/random.h>
#include "agent/algorithm.h"
#include "agent/bandit.h"
#include "agent/learning.h"
#include "agent/replay.h"
#include "agent/turns.h"
#include "base/team.h"
#include "nn/mlp.h"

namespace ovde {

// How the behaviour policy differs from the policy at one step. NaN: the algorithm has no such
// number.
struct Decision {
  double m = std::numeric_limits<double>::quiet_NaN();  // OVD-Explorer's weight of the step
  double shift = 0;  // length of the move of the mean, before the squash
};

// What the networks say at an observation, which a behaviour policy acts on. An agent asks its own
// networks; elsewhere those of many agents are asked at once (cuda/population.h). Refers to memory
// of whoever asked.
struct Proposal {
  // of an actor, before the squash: the policy's Gaussian, and its mean as the explorer moves it
  std::span<const double> mean = {}, std = {}, moved = {};
  double m = std::numeric_limits<double>::quiet_NaN();  // see Decision
  int choice = 0;                                       // of discrete actions: its number
};

// What the policy consists of, for a file that keeps it. Refers to the agent's own memory.
struct PolicyContents {
  struct Network {
    std::string name;
    MlpShape shape;
    std::span<const float> parameters;
  };
  std::vector<Network> networks;
  std::optional<int> bins = {};  // of each action dimension, where actions are discrete
  // what the networks take is (x - mean) * scale: all means, then all scales; empty: x itself
  std::span<const float> scaling = {};
};

class Agent {
 public:
  virtual ~Agent() = default;
  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;

  // The team that acting may use from now on; null: none. It must outlive its use.
  virtual void use(Team* team) = 0;

  // The trained policy.
  virtual void act(std::span<const double> observation, std::span<double> action) = 0;

  // The behaviour policy; with `plain`, that of the warm-up, which does not look at the critics.
  Decision explore(std::span<const double> observation, bool plain, std::span<double> action) {
    return decide(propose(scaled(observation), plain), plain, action);
  }
  // The same in two parts: what the networks say of an observation as they see it, valid until the
  // next call; and the action that follows from it.
  virtual Proposal propose(std::span<const double> input, bool plain) = 0;
  virtual Decision decide(const Proposal& proposal, bool plain, std::span<double> action) = 0;

  // What both critics believe of an action; valid until the next call of any kind. Null: they do
  // not judge every action.
  virtual const QuantilePair* quantiles(std::span<const double> /*observation*/,
                                        std::span<const double> /*action*/) {
    return nullptr;
  }

  // `last`: the episode ends with this step.
  void remember(std::span<const double> observation, std::span<const double> action, double reward,
                std::span<const double> next_observation, bool terminal, bool last);
  // The episode in progress will not be seen to its end. Its last row is cut off (Replay) by
  // whoever has the rows.
  void give_up_episode();

  // Whether the scout acts in this episode, where there is one. Setting it is for those who act
  // elsewhere on its behalf.
  bool scout_acts() const { return scout_acts_ != 0; }
  void let_scout_act(bool acts) { scout_acts_ = acts ? 1 : 0; }

  // What the critics' optimism is in the updates to come. Setting it is for those who learn
  // elsewhere on its behalf.
  float optimism() const { return static_cast<float>(optimism_); }
  void set_optimism(float optimism) { optimism_ = optimism; }

  // From now on networks see (x - mean) / deviation of an observation x, if
  // train.normalise_observations; before anything is remembered. Deviations of almost nothing count
  // as 1.
  void set_scaling(std::span<const double> mean, std::span<const double> deviation);
  // An observation as networks see it; valid until the next call.
  std::span<const double> scaled(std::span<const double> observation) {
    return scaled(observation, scaled_);
  }

  virtual UpdateReport update(Team& team) = 0;
  virtual ValueReport value_report() const = 0;  // of the last update's batch
  virtual std::uint64_t updates() const = 0;
  // Multiply-adds, counted as two, of the matrix products that one update performs.
  virtual double flop_per_update() const = 0;

  virtual LearnerState state() = 0;
  virtual void restored() = 0;
  virtual PolicyContents policy() const = 0;

  const AgentOptions& options() const { return options_; }
  Replay& replay() { return replay_; }
  const Replay& replay() const { return replay_; }
  // The streams that acting draws from.
  Random& behaviour_noise() { return behaviour_noise_; }
  Random& explorer_noise() { return explorer_noise_; }

 protected:
  explicit Agent(const AgentOptions& options);

  std::span<const double> scaled(std::span<const double> observation,
                                 std::vector<double>& room) const;
  std::span<const float> scaling() const { return scaling_; }
  // What this part of an agent has to save.
  void add_state(LearnerState& state);

 private:
  void begin_next_episode();

  AgentOptions options_;
  Replay replay_;
  double scout_acts_ = 0;       // 0 or 1
  std::optional<Turns> turns_;  // of the scout
  std::optional<Bandit> bandit_;
  double optimism_;
  std::vector<float> scaling_;  // all means, then all scales; empty: observations stay as they are
  std::vector<double> scaled_;
  Random behaviour_noise_, explorer_noise_;
  std::vector<float> observation_, action_, next_observation_;  // of remember()
};

// As networks take it.
void to_float(std::span<const double> from, std::span<float> to);

// The kind of agent that the algorithm asks for.
std::unique_ptr<Agent> make_agent(const AgentOptions& options);

}  // namespace ovde
