// The learner: critics, actor, temperature and target networks of one agent, and the update that
// changes them (Algorithm 2). SAC is the case of one quantile with squared loss. Knows nothing of
// environments or of how actions are chosen.
//
// An update is cut into fixed pieces (critic, half batch) that a Team of any size runs: the bits of
// the result do not depend on the number of threads.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ovde/random.h>
#include "agent/replay.h"
#include "agent/squashed_gaussian.h"
#include "math/team.h"
#include "nn/adam.h"
#include "nn/mlp.h"

namespace ovde {

struct LearnerOptions {
  int observation_size = 0;
  int action_size = 0;
  std::vector<int> hidden = {256, 256};
  int quantiles = 20;
  bool distributional =
      true;  // quantile loss and a target policy; otherwise squared loss and the online policy
  int batch = 256;
  float discount = 0.99f;
  float polyak = 5e-3f;
  AdamOptions adam;
  std::uint64_t seed = 0;
};

struct UpdateReport {
  double critic_loss = 0;  // mean of the two critics'
  double actor_loss = 0;
  double temperature = 0;
};

// Mean over a batch, at the policy's own actions.
struct ValueReport {
  double mean = 0, epistemic = 0, aleatoric = 0;
};

class Learner {
 public:
  explicit Learner(const LearnerOptions& options);

  UpdateReport update(const Replay& replay, Team& team);

  // Of the last update's batch.
  ValueReport value_report() const;

  const LearnerOptions& options() const { return options_; }
  const MlpShape& actor_shape() const { return actor_shape_; }
  const MlpShape& critic_shape() const { return critic_shape_; }
  std::span<const float> actor() const { return actor_.parameters; }
  std::span<const float> critic(int k) const { return critics_[k].net.parameters; }
  std::uint64_t updates() const { return updates_; }

  // Everything that an update reads and changes, as named arrays; after writing into them call
  // restored().
  struct State {
    std::vector<std::pair<std::string, std::span<float>>> arrays;
    std::uint64_t* updates;
  };
  State state();
  void restored();

  // Multiply-adds, counted as two, of the matrix products that one update performs.
  double flop_per_update() const;

 private:
  struct Critic {
    Trained net;
    Mlp online, target;
    Activations activations;         // of the online network
    Activations target_activations;  // of the target network at (s', a')
    Batch targets;                   // (N x batch)
    Deltas deltas;
    Buffer gradient;
    GradientScratch scratch;
    Buffer mean_weights;    // last layer's weights averaged over the quantiles: d mean(z) / d last
                            // hidden layer
    Batch value;            // (1 x batch): mean over the quantiles at (s, new action)
    Batch action_gradient;  // (actions x batch): of that value where this critic is the smaller,
                            // else zero
    double loss = 0;
  };
  struct Half {  // what each half batch of the actor's update owns
    Buffer gradient;
    GradientScratch scratch;
    Buffer noise;                // one row of it
    double log_probability = 0;  // sum of weight * log pi
    double actor_loss = 0;
  };

  // the steps of an update, in their order
  void load_batch(const Replay& replay, Blocks blocks);
  void sample_new_actions(Blocks blocks, Half& half);
  void update_temperature();
  void evaluate_target(Critic& critic);
  void update_critic(Critic& critic);
  void evaluate_new_actions(Critic& critic);
  void actor_gradient(Blocks blocks, Half& half);

  void fill_noise(Stream stream, SampledActions& sampled, Blocks blocks, Half& half) const;
  void pack(Critic& critic);

  LearnerOptions options_;
  MlpShape actor_shape_, critic_shape_;
  std::vector<float> fractions_;

  Trained actor_;
  Mlp actor_online_, actor_target_;
  std::array<Critic, 2> critics_;
  std::array<float, 3> log_alpha_{};  // value and its two moments
  float alpha_ = 1;
  std::uint64_t updates_ = 0;

  // the batch and what is computed on it (features x batch)
  Batch observation_, next_observation_;
  Batch state_action_, next_state_action_, state_new_action_;  // observation above action
  Batch reward_, continues_;  // continues: discount where the transition is not terminal
  Batch weight_;              // 1 / batch; 0 in lanes beyond the batch
  Activations actor_activations_, next_activations_;
  SampledActions new_action_, next_action_;
  Deltas actor_deltas_;
  std::array<Half, 2> halves_;
};

}  // namespace ovde
