// How a population lies in the GPU's memory: plain structures that host and device code share.
// Knows nothing of how they are filled or computed on.
#pragma once

#include <cstdint>

namespace ovde::cuda {

// What the kernels are made for.
inline constexpr int kMostHidden = 3;    // hidden layers
inline constexpr int kMostWidth = 256;   // units of a hidden layer
inline constexpr int kMostInputs = 256;  // observation and action together
inline constexpr int kMostOutputs =
    32;  // quantiles, or twice the actions: a lane of a warp for each
inline constexpr int kMostActions = kMostOutputs / 2;

// As agent/squashed_gaussian.h has them.
inline constexpr float kMinLogStd = -20, kMaxLogStd = 2, kSquashEpsilon = 1e-6f;

// The same flat buffer as nn/mlp.h: W (outputs x inputs, rows padded to `stride` floats), then the
// bias.
struct LayerShape {
  int inputs, outputs, stride;
  int weights, bias;  // where they begin
};
struct NetworkShape {
  int layers;
  LayerShape layer[kMostHidden + 1];
  int size;  // floats, padding included
};

// Parameters with what their optimiser and their target network remember.
struct Network {
  float *parameters, *first_moment, *second_moment, *target;
};

// What an update leaves of a network for the gradients of its parameters: rows are samples, padded
// to the stride of the layer that reads them.
struct Trace {
  const float* input;  // of the first layer
  int input_stride;
  float* hidden[kMostHidden];
  float* delta[kMostHidden + 1];  // gradient of what each layer puts out
};

enum class Behaviour : int { gaussian, oac, ovd };
enum class CurrentReturn : int { gaussian, quantiles, mean };
enum class Direction : int { unit, raw, full };

struct Exploring {
  Behaviour behaviour;
  CurrentReturn current_return;
  Direction direction;
  int samples;
  double alpha, beta, normaliser, oac_beta, oac_step;
};

// The part of an agent that updates change, besides its networks.
struct Progress {
  std::uint64_t updates;
  std::uint64_t replay_rows;
  float log_alpha[3], next_log_alpha[3];  // value and its two moments, before and after this update
  float alpha;
  float adam_step, adam_root;  // of this update, bias corrections included
  // sums since they were last cleared, and the first update (from 1) with a number that is not
  // finite
  double critic_loss, actor_loss;
  std::uint64_t first_bad;
};

// What an agent is made of and what never changes of it.
struct AgentSpec {
  NetworkShape actor_shape, critic_shape;
  int observations, actions, quantiles, batch;
  bool distributional;
  float discount, polyak, learning_rate, beta1, beta2, epsilon;
  std::uint64_t seed;
  Exploring exploring;
  std::int64_t replay_rows;
};

struct Agent : AgentSpec {
  Network actor, critic[2];
  double log_beta1, log_beta2;

  float* replay;  // rows as agent/replay.h keeps them
  int replay_stride;
  Progress* progress;

  // one update's batch (rows x ...), rows beyond the batch are zero
  float *state_action, *reward, *continues;
  float *action, *spread, *raw_log_std, *log_probability;  // the current policy's at s
  float *next_action, *next_log_probability;               // the target policy's at s'
  float* next_quantiles[2];                                // of the target critics there
  float* quantiles_at_new[2];            // of the critics at the current policy's action
  float *value[2], *action_gradient[2];  // their mean, and its gradient
  float *critic_loss[2], *actor_loss;    // of each row
  Trace actor_trace, critic_trace[2];
  std::uint32_t* actor_active;  // the actor's hidden units above zero, as the tiles note them
};

}  // namespace ovde::cuda
