// An agent in the GPU's memory: plain structures that host and device code share. Knows nothing of
// how they are filled or computed on.
#pragma once

#include <cstdint>

#include "agent/discrete/ids.h"
#include "agent/explore/rules.h"
#include "agent/options.h"

struct __half;  // cuda_fp16.h

namespace ovde::cuda {

// Limits of the kernels.
inline constexpr int kMostHidden = 3;    // hidden layers
inline constexpr int kMostWidth = 256;   // units of a hidden layer
inline constexpr int kMostInputs = 256;  // observation and action together
inline constexpr int kMostOutputs = 32;  // quantiles, or twice the actions: one for each lane
inline constexpr int kMostActions = kMostOutputs / 2;

// ---- networks

// The same flat buffer as nn/mlp.h: W (outputs x inputs, rows padded to `stride` floats), then the
// bias, then gain and shift where the layer is normalised.
struct LayerShape {
  int inputs, outputs, stride;
  int weights, bias, gain, shift;  // offsets in floats
};
struct NetworkShape {
  int layers;
  bool norm;  // hidden layers are normalised
  LayerShape layer[kMostHidden + 1];
  LayerShape output;  // only of an implicit quantile network
  int size;           // floats, padding included

  // The layers of an implicit quantile network (nn/iqn.h) are features, gate and merge.
  OVDE_BOTH int feature_layers() const { return layers - 2; }
};
inline constexpr int kMostFeatureLayers = kMostHidden - 1;
inline constexpr int kMostNormalised = kMostFeatureLayers + 2;

// How far one update moves a network and its target network.
struct NetworkStep {
  AdamCorrection adam;
  float polyak;
};

// Parameters, Adam's moments and the target network.
struct Network {
  float *parameters, *first_moment, *second_moment, *target;
  const NetworkStep* step;  // the current update's
};

// fp16 copies of the weights of a network's layers in the order in which the tiles read them
// (tile/product_fp16.cuh), zero beyond the layer. The output layer of an actor or of a critic with
// fixed fractions has, for the forward pass, kMostWidth numbers for each output.
struct HalfCopies {
  __half* forward[kMostNormalised];
  __half* target[kMostNormalised];
  __half* backward[kMostNormalised];  // null where the gradient of the layer's input is not needed
};
static_assert(kMostNormalised == kMostHidden + 1);

// ---- traces: numbers that one kernel of an update leaves for another

// A network's trace for the gradients of its parameters. Rows are samples, padded to the stride of
// the next layer. Critics and actors keep fp16 numbers, unless products are fp32, and gradients of
// the sum over the batch: those of its mean would vanish in fp16.
struct Trace {
  const float* input;        // the first layer's
  const __half* half_input;  // the same
  int input_stride;
  float* hidden[kMostHidden];
  float* delta[kMostHidden + 1];  // gradient of each layer's output
};

// The trace of normalised hidden layers. The forward pass leaves their normalised sums (rows padded
// to the stride of the next layer, numbers as in Trace). The backward pass leaves sums of the
// gradients of gain and shift, over kSummedRows rows each.
inline constexpr int kSummedRows = 16;
struct NormTrace {
  float *normal[kMostHidden], *by_gain[kMostHidden], *by_shift[kMostHidden];
};

// The trace of an implicit quantile network. Rows of the features are samples. Rows of gate and
// merge are fractions, sample by sample, in fp16 unless products are fp32. All gradients are of the
// sum over the batch.
struct IqnTrace {
  float* features[kMostFeatureLayers];  // after the ReLU
  float *feature_normal[kMostFeatureLayers], *feature_scale[kMostFeatureLayers];
  float* gated;                   // features * gate
  float* gate;                    // the gate's normalised sums, then their gradients
  float* delta[kMostNormalised];  // gradient of each layer's sums; the gate's is `gate`
  // sums over the rows of a warp, for the gradients of gain and shift
  float *by_gain[kMostNormalised], *by_shift[kMostNormalised];
  float* by_value;  // gradient of the output's bias, for each sample
};

// Numbers that the kernels of one action pass on (kernels/explore/act.cu).
struct IqnActing {
  int* explores;
  float *head, *input;                // the actor's output; (s, a) for the critics
  float *weights, *values[2];         // quantiles with their weights
  double* m;                          // one for each sample of the optimistic value
  float *by_quantile, *by_action[2];  // (samples x 2 x quantiles); (samples x actions)
};

// ---- state that updates change, besides the networks

struct Progress {
  std::uint64_t updates;
  std::uint64_t replay_rows, replay_added;  // rows in the buffer, and rows ever added
  float log_alpha[3], next_log_alpha[3];    // value and two moments, before and after this update
  float alpha;
  float reward_scale;  // the factor of the rewards
  bool moves;          // the actor and the temperature move in this update
  NetworkStep critic_step, actor_step, rnd_step;
  double critic_loss, actor_loss;  // sums since the host last cleared them
  std::uint64_t first_bad;         // first update (from 1) with a number that is not finite
};

// ---- extensions

// Random network distillation. The statistics follow each other in memory in this order, which is
// that of agent/actor_critic/bonus.h.
struct RndStatistics {
  double *next_row, *intrinsic_return, *observations, *returns;
};
struct Distillation {
  Network net;  // the predictor; its target network is the random one
  Trace trace;
  float *input, *error;  // each row's normalised observation and prediction error
  double* noise;         // each row's, where the bonus is discounted
  RndStatistics statistics;
  float *center, *scale, *bonus_scale;  // derived from them: of observations, of an error
};

// An agent over a grid of actions has no actor: its critics have N outputs for each action at a
// state (agent/discrete/grid_critic.h).
struct Grid {
  // each action's mean row of the output layer, and the layer of these rows at s'
  float *mean_weights[2], *mean_bias[2], *means[2];
  int means_stride;
  float* next_hidden[2];  // last hidden layer of the target networks at s'
  int* action;            // number of each sample's action
  float* slope[2];        // gradient of its quantiles
  // for acting: the last hidden layers, and the estimates for each action
  float* hidden[2];
  IdsArm* arms;
};

// The initial multipliers of an optimist, and their optimiser.
struct Multipliers {
  float log_optimism, log_weight;
  AdamOptions adam;
};

// The working memory of an optimist (agent/actor_critic/optimist.h).
struct Optimist {
  Network policy;  // its owner's actor
  HalfCopies policy_half;
  float *head, *policy_head;         // outputs of both actors at s (rows x 2 actions)
  float* divergence;                 // one for each row
  float *log_optimism, *log_weight;  // value and two moments
};

// ---- agents

// A learner of a population: an agent's own; its scout, which has its own networks and its owner's
// replay buffer; or its optimist, which has its own actor and its owner's critics and batch.
enum class Role { agent, scout, optimist };

// The constants of an agent: the learner's options, and values derived from them.
struct AgentSpec : LearnerNumbers {
  Role role = Role::agent;
  int owner = 0;  // index of the agent that has this learner

  IdsOptions ids;
  DeviceRule explorer;

  NetworkShape actor_shape;
  bool iqn;  // critics take fractions as inputs
  NetworkShape critic_shape;
  int state_action_stride;
  Blend blend;               // shares of the smaller and the larger critic in losses and targets
  int choices;               // actions of the grid
  NetworkShape trunk_shape;  // the critics of a grid without their output layer
  NetworkShape rnd_shape;
  Multipliers multipliers;  // only an optimist has them

  OVDE_BOTH bool is_grid() const { return policy == PolicyKind::greedy; }
  OVDE_BOTH bool is_deterministic() const { return policy == PolicyKind::deterministic; }
  OVDE_BOTH bool has_bonus() const { return rnd.bonus != Bonus::none; }
  OVDE_BOTH bool discounts_bonus() const { return rnd.bonus == Bonus::discounted; }
  // quantiles at random fractions have equal weights in means
  OVDE_BOTH bool has_equal_weights() const { return critic.weights == QuantileWeights::equal; }
  // the actor's loss takes the smaller critic quantile by quantile
  OVDE_BOTH bool is_by_quantile() const { return critic.minimum == Minimum::quantiles; }
};

struct Agent : AgentSpec {
  Network actor_net, critic_net[2];
  HalfCopies actor_half, critic_half[2];

  float* replay;  // rows in the format of agent/replay.h
  int replay_stride;
  Progress* progress;

  // one update's batch (rows x ...); rows beyond the batch are zero
  float *state_action, *reward, *continues;
  __half* half_state_action;
  // the current policy at s
  float *action, *spread, *raw_log_std, *log_probability;
  float* before_squash;  // actions of a deterministic policy before the squash
  // the target policy and the target critics at s'
  float *next_action, *next_log_probability, *next_quantiles[2];
  // the critics at the current policy's action: quantiles, their mean, its gradient by the action;
  // by quantile: the mean of the smaller ones, and the gradient of each critic's part
  float *quantiles_at_new[2], *value[2], *action_gradient[2];
  float *critic_loss[2], *actor_loss;  // one for each row
  Trace actor_trace, critic_trace[2];
  NormTrace norm_trace[2];
  std::uint32_t* actor_active;  // a bit for each hidden unit of the actor: whether it is above zero

  // only for critics that take fractions as inputs
  float *next_state_action, *next_features[2];  // the target critics' last features
  float *next_weights, *weights_at_new;         // weights of the quantiles
  float* fractions[3];                          // one set for each FractionsFor
  float* cosines;                               // cosines of the predictions' fractions
  IqnTrace iqn_trace[2];
  IqnActing acting;

  Distillation distillation;
  Grid grid;
  Optimist optimist;
};

}  // namespace ovde::cuda
