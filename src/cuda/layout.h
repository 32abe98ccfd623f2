// How a population lies in the GPU's memory: plain structures that host and device code share.
// Knows nothing of how they are filled or computed on.
#pragma once

#include <cstdint>

#include "agent/discrete/ids_rule.h"
#include "agent/equations.h"
#include "agent/explore/rules.h"
#include "nn/equations.h"

struct __half;  // cuda_fp16.h

namespace ovde::cuda {

// What the kernels are made for.
inline constexpr int kMostHidden = 3;    // hidden layers
inline constexpr int kMostWidth = 256;   // units of a hidden layer
inline constexpr int kMostInputs = 256;  // observation and action together
inline constexpr int kMostOutputs =
    32;  // quantiles, or twice the actions: a lane of a warp for each
inline constexpr int kMostActions = kMostOutputs / 2;

// The same flat buffer as nn/mlp.h: W (outputs x inputs, rows padded to `stride` floats), then the
// bias, then gain and shift where the layer is normalised.
struct LayerShape {
  int inputs, outputs, stride;
  int weights, bias, gain, shift;  // where they begin
};
struct NetworkShape {
  int layers;
  bool norm;  // hidden layers are normalised
  LayerShape layer[kMostHidden + 1];
  int size;  // floats, padding included
};

// An implicit quantile network, the same flat buffer as nn/iqn.h.
inline constexpr int kMostFeatureLayers = kMostHidden - 1;
inline constexpr int kMostNormalised = kMostFeatureLayers + 2;
struct IqnShape {
  int feature_layers;
  bool norm;
  LayerShape layer[kMostNormalised];  // features, gate, merge
  LayerShape output;
  int size;
};

// How far one update moves a network and its target network.
struct NetworkStep {
  AdamCorrection adam;
  float polyak;
};

// Parameters with what their optimiser and their target network remember.
struct Network {
  float *parameters, *first_moment, *second_moment, *target;
  const NetworkStep* step;  // of the update that is being done
};

// Copies of the weights of a network's layers in fp16, as the tiles want them: slab after slab
// (half_tile.cuh), zero beyond the layer. Forward, the output layer of a network with fixed
// fractions, or of an actor, is kMostWidth numbers for each output.
struct HalfCopies {
  __half* forward[kMostNormalised];
  __half* target[kMostNormalised];
  __half* backward[kMostNormalised];  // null where no gradient of the layer's input is asked for
};
static_assert(kMostNormalised == kMostHidden + 1);

// What an update leaves of a network for the gradients of its parameters: rows are samples, padded
// to the stride of the layer that reads them. Of critics and actors they are in fp16, unless the
// products are fp32; and their gradients are those of the sum over the batch: its mean would be
// lost in fp16.
struct Trace {
  const float* input;        // of the first layer
  const __half* half_input;  // the same
  int input_stride;
  float* hidden[kMostHidden];
  float* delta[kMostHidden + 1];  // gradient of what each layer puts out
};

// What a forward pass leaves of normalised hidden layers for its own backward pass: their sums
// after the normalisation (rows padded to the stride of the next layer, numbers as in Trace), and
// its scale. And what
// the backward pass leaves: sums over kSummedRows rows each of the gradients of gain and shift.
inline constexpr int kSummedRows = 16;
struct NormTrace {
  float *normal[kMostHidden], *scale[kMostHidden];
  float *by_gain[kMostHidden], *by_shift[kMostHidden];
};

// The same of an implicit quantile network. Rows of its features are samples; those of gate and
// merge are fractions of samples, sample by sample, and in fp16 unless the products are fp32. All
// gradients are those of the sum over the batch: its mean would be lost in fp16.
struct IqnTrace {
  float* features[kMostFeatureLayers];  // after the ReLU
  float *feature_normal[kMostFeatureLayers], *feature_scale[kMostFeatureLayers];
  float* gated;                   // features * gate
  float* gate;                    // the gate's normalised sums, then their gradients
  float* delta[kMostNormalised];  // gradient of each layer's sums; the gate's is `gate`
  // what the gradients of gain and shift are made of: sums over the rows of a warp
  float *by_gain[kMostNormalised], *by_shift[kMostNormalised];
  float* by_value;  // of the output's bias, for each sample
};

// What the kernels of one action hand on to one another (iqn_act.cu).
struct IqnActing {
  int* explores;
  float *head, *input;                // of the actor; (s, a) of the critics
  float *weights, *values[2];         // of the quantiles
  double* m;                          // of each sample of the optimistic value
  float *by_quantile, *by_action[2];  // (samples x 2 x quantiles); (samples x actions)
};

// The part of an agent that updates change, besides its networks.
struct Progress {
  std::uint64_t updates;
  std::uint64_t replay_rows, replay_added;  // those there are, and those ever added
  float log_alpha[3], next_log_alpha[3];  // value and its two moments, before and after this update
  float alpha;
  // of this update: whether the actor and the target networks move in it, and how far what moves
  bool moves;
  NetworkStep critic_step, actor_step, rnd_step;
  // sums since they were last cleared, and the first update (from 1) with a number that is not
  // finite
  double critic_loss, actor_loss;
  std::uint64_t first_bad;
};

// Td3Options of agent/options.h. Other policies move with the critics: a delay of 1.
struct Td3Policy {
  float smoothing, clip, penalty;
  int delay;
};

// Random network distillation: its running statistics, one after the other in this order, as
// agent/rnd.h saves them.
struct RndStatistics {
  double *next_row, *intrinsic_return, *observations, *returns;
};
struct Rnd {
  Network net;  // the predictor; its target network is the random one
  Trace trace;
  float *input, *error;  // of each row: the observation, normalised; the prediction error
  double* noise;         // of each row, where the bonus is discounted
  RndStatistics statistics;
  float *center, *scale, *bonus_scale;  // follow from them: of observations, of an error
};

// What an agent over a grid of actions has instead of an actor: its critics have N outputs for each
// action at a state (agent/discrete/grid_critic.h).
struct Grid {
  // the mean of each action's rows of the output layer, and what these layers put out at s'
  float *mean_weights[2], *mean_bias[2], *means[2];
  int means_stride;
  float* next_hidden[2];  // the last hidden layer of the target networks at s'
  int* action;            // the number of each sample's
  float* slope[2];        // gradient of its quantiles
  // of acting: the last hidden layers, and what they say of each action
  float* hidden[2];
  IdsArm* arms;
};

// DacOptions of agent/options.h, the two multipliers as logarithms, and how these step.
struct OptimistSpec {
  float spread, divergence, log_optimism, log_weight;
  int copy_updates;
  AdamOptions adam;
};

// What an optimist works with: the actor of the agent that it explores for, what both put out at s,
// and what holds it near that (agent/actor_critic/optimist.h).
struct Optimist {
  Network policy;
  HalfCopies policy_half;
  float *head, *policy_head;         // (rows x 2 actions)
  float* divergence;                 // of each row
  float *log_optimism, *log_weight;  // value and its two moments
};

// What an agent is made of and what never changes of it.
struct AgentSpec {
  NetworkShape actor_shape;
  bool iqn;                   // which of the two the critics are
  bool random_fractions;      // of the second kind
  NetworkShape critic_shape;  // fixed fractions
  IqnShape iqn_shape;         // given ones
  int critic_size;            // floats of a critic's parameters
  int state_action_stride;
  int observations, actions, quantiles, batch;
  bool distributional;
  bool equal_weights;        // of quantiles at random fractions, in means
  bool smaller_by_quantile;  // the actor's loss takes the smaller critic quantile by quantile
  Blend blend;               // what counts of the smaller and of the larger, there and in targets
  int dropped;               // LearnerOptions of agent/options.h
  UncertaintyForm uncertainty;
  float discount, polyak;
  bool tunes_temperature;
  bool deterministic;  // the policy, which is then TD3's; the rest of what it is made of:
  Td3Policy td3;
  bool is_grid;  // it acts on a grid of actions
  int bins, choices;
  double ids_lambda;
  NetworkShape trunk_shape;  // of its critics: all but the output layer
  bool has_rnd;              // rewards have its bonus
  NetworkShape rnd_shape;
  float rnd_scale;        // of the bonus
  bool relative_bonus;    // to the mean error of the batch
  bool discounts_bonus;   // where the return is noisy (agent/noise_discount.h)
  float noise_tolerance;  // then
  AdamOptions adam;
  std::uint64_t seed;
  DeviceRule explorer;
  int n_step;  // rewards in a return (agent/n_step.h)
  std::int64_t replay_rows;
  int replay_owner = -1;  // the agent whose replay buffer it reads; -1: its own
  // the agent that it is the optimist of: all but an actor of its own is that one's; -1: it is none
  int policy_owner = -1;
  OptimistSpec optimist_spec;  // then
};

struct Agent : AgentSpec {
  Network actor, critic[2];
  HalfCopies actor_half, critic_half[2];

  float* replay;  // rows as agent/replay.h keeps them
  int replay_stride;
  Progress* progress;

  // one update's batch (rows x ...), rows beyond the batch are zero
  float *state_action, *reward, *continues;
  __half* half_state_action;
  float *action, *spread, *raw_log_std, *log_probability;  // the current policy's at s
  float *next_action, *next_log_probability;               // the target policy's at s'
  float*
      before_squash;  // of a deterministic policy: its actions at s, as the network puts them out
  float* next_quantiles[2];    // of the target critics there
  float* quantiles_at_new[2];  // of the critics at the current policy's action
  // their mean, and its gradient; by quantile: the mean of the smaller, the gradient of each's part
  float *value[2], *action_gradient[2];
  float *critic_loss[2], *actor_loss;  // of each row
  Trace actor_trace, critic_trace[2];
  NormTrace norm_trace[2];  // of the critics

  // of given fractions alone
  float *next_state_action, *next_features[2];  // the latter: the last ones of the target critics
  float *next_weights, *weights_at_new;         // what each of the quantiles counts
  float* fractions[3];                          // of this update, for each FractionsFor
  float* cosines;                               // of those of the predictions
  IqnTrace iqn_trace[2];
  IqnActing acting;

  Rnd rnd;    // where there is a bonus
  Grid grid;  // where it acts on one
  Optimist optimist;

  std::uint32_t* actor_active;  // the actor's hidden units above zero, as the tiles note them
};

}  // namespace ovde::cuda
