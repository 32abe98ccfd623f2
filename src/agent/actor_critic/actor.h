// The actor of a learner on batches (Actor), and at one observation, for acting (PolicyPass). Its
// two kinds are gaussian_actor.cpp and deterministic_actor.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include <ovde/explorer.h>
#include "agent/learning.h"
#include "agent/replay.h"
#include "nn/single.h"

namespace ovde {

// Actions of a batch and their log-probabilities.
struct Actions {
  const Batch& action;           // (actions x batch)
  const Batch& log_probability;  // (1 x batch)
};

// `update` is the number of the update (from 0), which addresses its random numbers. Calls with
// `half` concern one fixed half of the batch (half_blocks) and may run side by side for both.
class Actor {
 public:
  virtual ~Actor() = default;

  // Draws the policy's actions at s, by which it is improved, and actions at s', for the critics'
  // targets.
  virtual void act(const ReplayBatch& batch, std::uint64_t update, Team& team) = 0;
  virtual Actions actions() const = 0;
  virtual Actions next_actions() const = 0;

  // One step of the temperature, by the last act(). Called in those updates that move the actor.
  virtual void update_temperature(std::uint64_t /*update*/) {}
  // The weight of log pi in all losses; empty: the policy has no temperature.
  virtual std::optional<float> temperature() const { return {}; }

  // The loss is  own loss - sum over samples of weight * q:  the entropy or a penalty.
  virtual double own_loss(int half) const = 0;
  // The gradient of the loss by the network's outputs at the last act(), given dq/da (actions x
  // batch).
  virtual void differentiate(const Batch& q_gradient, const Batch& weight, int half) = 0;
  // A step of the network along that gradient, and of its target network.
  void step(const ReplayBatch& batch, std::uint64_t update, Team& team);

  Network& network() { return *network_; }

  // State beside the network. After writing into either call restored().
  virtual StateArrays more_state() { return {}; }
  virtual void restored() { network_->restored(); }

 protected:
  Actor(const LearnerOptions& options, int outputs, NetworkUse::Second second)
      : seed_(options.seed),
        train_(options.train),
        network_(make_actor_network(options, outputs, second)) {}

  // The number (from 1) of its step in an update, and the learning rate, which falls with its own
  // steps.
  std::uint64_t step_number(std::uint64_t update) const {
    return (update + 1) / train_.actor_every;
  }
  AdamOptions adam(std::uint64_t update) const {
    return train_.adam.at(update / train_.actor_every);
  }

  std::uint64_t seed_;
  TrainOptions train_;
  std::unique_ptr<Network> network_;
};

// The actor that the options ask for; Error for a greedy policy, which has none.
std::unique_ptr<Actor> make_actor(const LearnerOptions& options);
std::unique_ptr<Actor> make_gaussian_actor(const LearnerOptions& options);
std::unique_ptr<Actor> make_deterministic_actor(const LearnerOptions& options);

// The actor network at one observation: a Gaussian before the squash, or the mean alone of a
// deterministic policy, whose network has one output for each action.
class PolicyPass {
 public:
  PolicyPass(const MlpShape& actor_shape, int actions, LogStdForm form = LogStdForm::clamped)
      : pass_(actor_shape), actions_(actions), form_(form) {}

  // Copies the actor's parameters.
  void load(std::span<const float> parameters) { pass_.load(parameters); }

  int observation_size() const { return pass_.inputs(); }
  int action_size() const { return actions_; }

  // Where the caller writes the observation before head() or act().
  std::span<float> input() { return pass_.input(); }

  // A deterministic policy has a standard deviation of zero.
  void head(ActorHead& head);

  // tanh(mean), the action of a trained policy.
  void act(std::span<double> action);
  void act(std::span<const double> observation, std::span<double> action);

 private:
  SinglePass pass_;
  int actions_;
  LogStdForm form_;
};

}  // namespace ovde
