// The actor of a learner: as the learner sees it (Actor), and at one observation, as acting does
// (PolicyPass). Its two kinds are gaussian_actor.cpp and deterministic_actor.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <ovde/explorer.h>
#include "agent/learning.h"
#include "base/team.h"
#include "nn/batch.h"
#include "nn/batch_network.h"
#include "nn/single.h"

namespace ovde {

// Actions of a batch and how likely each was.
struct Actions {
  const Batch& action;           // (actions x batch)
  const Batch& log_probability;  // (1 x batch)
};

// The actions that the critics are asked about, and the step that follows their answer. Calls with
// `half` concern one fixed half of the batch (half_blocks) and may run side by side for both.
class Actor {
 public:
  virtual ~Actor() = default;

  // Steps of update number `update` (from 0), which numbers what they draw at random.

  // The policy's own actions at s, by which it will be improved.
  virtual void act(const Batch& observation, const Batch& weight, std::uint64_t update,
                   int half) = 0;
  virtual Actions actions() const = 0;

  // Actions at s', by which the critics' targets are made.
  virtual void act_next(const Batch& next_observation, std::uint64_t update, int half) = 0;
  virtual Actions next_actions() const = 0;

  // One step of the weight that log pi has in all losses, by the last act(); and that weight, if
  // the policy has one.
  virtual void update_temperature(std::uint64_t update) = 0;
  virtual std::optional<float> temperature() const = 0;

  // The loss is  sum over samples of weight * (what the actor pays itself - q). This is that pay.
  virtual double own_loss(int half) const = 0;
  // Its gradient at the last act(), given dq/da (actions x batch).
  virtual void differentiate(const Batch& observation, const Batch& q_gradient, const Batch& weight,
                             int half) = 0;
  // Step number `step` (from 1) along it, and of the target network.
  virtual void step(std::uint64_t step, Team& team) = 0;

  // Updates of the critics for each step of the actor and of all target networks.
  virtual int delay() const = 0;

  virtual BatchNetwork& network() = 0;

  // What an update changes beside the network; after writing into either call restored().
  virtual StateArrays more_state() = 0;
  virtual void restored() = 0;
};

// The actor that the options ask for. A greedy policy has none: Error.
std::unique_ptr<Actor> make_actor(const LearnerOptions& options);
std::unique_ptr<Actor> make_gaussian_actor(const LearnerOptions& options);
std::unique_ptr<Actor> make_deterministic_actor(const LearnerOptions& options);

// The first parameters of an actor, and of its target network.
void initialise_actor(const LearnerOptions& options, BatchNetwork& network);

// The actor network at one observation: its Gaussian before the squash, or its mean alone where the
// policy is deterministic and the network has no more outputs than actions.
class PolicyPass {
 public:
  PolicyPass(const MlpShape& actor_shape, int actions) : pass_(actor_shape), actions_(actions) {}

  // Takes over the actor's parameters; call it again when they have changed.
  void load(std::span<const float> parameters) { pass_.load(parameters); }

  int observation_size() const { return pass_.inputs(); }
  int action_size() const { return actions_; }

  // Where the caller writes the observation before head() or act().
  std::span<float> input() { return pass_.input(); }

  // A deterministic policy has a standard deviation of zero.
  void head(ActorHead& head);

  // tanh(mean): how a trained policy acts.
  void act(std::span<double> action);
  void act(std::span<const double> observation, std::span<double> action);

 private:
  SinglePass pass_;
  int actions_;
};

}  // namespace ovde
