// The hyper-parameters of an agent, one struct for each table of the configuration. The
// configuration, the learner and the record of an agent on a GPU hold these same structs; the keys
// that fill them are declared in config/config_keys.cpp. A new table is a member of LearnerTables
// or AgentTables.
#pragma once

#include <cstdint>
#include <vector>

#include <ovde/uncertainty.h>
#include "agent/equations.h"
#include "base/names.h"
#include "nn/equations.h"

namespace ovde {

// Initial values of the target networks: copies of the networks, or drawn independently.
enum class TargetStart { copies, own };
template <>
inline constexpr Names<TargetStart> kNames<TargetStart> = {{TargetStart::copies, "copies"},
                                                           {TargetStart::own, "own"}};
template <>
inline constexpr Names<Initialisation> kNames<Initialisation> = {{Initialisation::base, "base"},
                                                                 {Initialisation::torch, "torch"}};

// The family of the actor's and the critics' networks: a multi-layer perceptron (nn/mlp.h), or
// residual blocks with batch norm (nn/residual.h).
enum class NetworkKind { mlp, residual };
template <>
inline constexpr Names<NetworkKind> kNames<NetworkKind> = {{NetworkKind::mlp, "mlp"},
                                                           {NetworkKind::residual, "residual"}};

template <>
inline constexpr Names<LogStdForm> kNames<LogStdForm> = {{LogStdForm::clamped, "clamped"},
                                                         {LogStdForm::squashed, "squashed"}};

struct NetworkOptions {
  NetworkKind kind = NetworkKind::mlp;
  // residual networks: widths of the critics and of the actor, blocks, how many times wider a
  // block is inside, and the actor's log standard deviation
  int width = 256;
  int actor_width = 128;
  int blocks = 2;
  int expansion = 4;
  LogStdForm log_std = LogStdForm::clamped;
  std::vector<int> hidden = {256, 256};
  Initialisation init = Initialisation::base;  // for the critics alone
  TargetStart targets = TargetStart::copies;

  bool operator==(const NetworkOptions&) const = default;
};
// The actor's form of the log standard deviation.
inline LogStdForm log_std_form(const NetworkOptions& network) {
  return network.kind == NetworkKind::residual ? network.log_std : LogStdForm::clamped;
}

// How a distributional critic represents the return: fixed fractions, an output for each (qr),
// fractions that are an input of the network, drawn at random (iqn) or fixed (embedded), or
// probabilities of fixed values (categorical).
enum class CriticHead { qr, iqn, embedded, categorical };
template <>
inline constexpr Names<CriticHead> kNames<CriticHead> = {{CriticHead::qr, "qr"},
                                                         {CriticHead::iqn, "iqn"},
                                                         {CriticHead::embedded, "embedded"},
                                                         {CriticHead::categorical, "categorical"}};
// Whether fractions are an input of the critics' networks.
inline bool is_implicit(CriticHead head) {
  return head == CriticHead::iqn || head == CriticHead::embedded;
}

// Weight of a quantile at a random fraction in a mean: the width of its interval, or the same for
// all.
enum class QuantileWeights { widths, equal };
template <>
inline constexpr Names<QuantileWeights> kNames<QuantileWeights> = {
    {QuantileWeights::widths, "widths"}, {QuantileWeights::equal, "equal"}};

// The actor's loss takes the smaller of the two critics' means (Eq. 6), or of each pair of
// quantiles.
enum class Minimum { means, quantiles };
template <>
inline constexpr Names<Minimum> kNames<Minimum> = {{Minimum::means, "means"},
                                                   {Minimum::quantiles, "quantiles"}};
template <>
inline constexpr Names<EpistemicForm> kNames<EpistemicForm> = {
    {EpistemicForm::quantiles, "quantiles"}, {EpistemicForm::means, "means"}};
template <>
inline constexpr Names<VarianceForm> kNames<VarianceForm> = {{VarianceForm::biased, "biased"},
                                                             {VarianceForm::unbiased, "unbiased"}};

struct CriticOptions {
  CriticHead head = CriticHead::qr;
  bool norm = false;  // layer norm in the hidden layers
  int quantiles = 20;
  // the values of a categorical critic: their number, the smallest and the largest
  int atoms = 101;
  float low = -5, high = 5;
  QuantileWeights weights = QuantileWeights::widths;
  Minimum minimum = Minimum::means;
  // targets and the actor's loss use mean + optimism * half the distance of the two critics; -1 is
  // their minimum
  float optimism = -1;
  // targets leave out this many of the largest values for each critic (actor_critic/truncation.h)
  int dropped = 0;
  UncertaintyForm uncertainty = {};

  bool operator==(const CriticOptions&) const = default;
};

// The behaviour policy of a Gaussian policy, whatever its explorer.
struct BehaviourOptions {
  int hold = 1;  // largest number of steps for which its noise is held (explore/held_noise.h)
};

// The deterministic policy (Fujimoto et al., 2018).
struct Td3Options {
  double noise = 0.1;      // standard deviation of the exploration noise
  double correlation = 0;  // correlation of that noise between consecutive steps
  float smoothing = 0.2f;  // standard deviation of the noise on the target policy's actions
  float clip = 0.5f;       // and its largest size
  float penalty = 0;       // weight of the squared outputs in the actor's loss

  bool operator==(const Td3Options&) const = default;
};

// A bonus for new observations in the rewards of an update (actor_critic/bonus.h): none, the
// whole bonus, or less of it where the return is noisy.
enum class Bonus { none, plain, discounted };
template <>
inline constexpr Names<Bonus> kNames<Bonus> = {
    {Bonus::none, "none"}, {Bonus::plain, "plain"}, {Bonus::discounted, "discounted"}};

struct RndOptions {
  Bonus bonus = Bonus::none;
  float scale = 1;
  // errors are divided by their mean over the batch, so that the bonus does not fade; otherwise by
  // the standard deviation of the intrinsic return so far
  bool relative = false;
  float tolerance = 1;  // the bonus is halved where the noise is this many times its mean

  bool operator==(const RndOptions&) const = default;
};

// A second learner on the same replay buffer that acts in some of the episodes
// (actor_critic/scout.h).
struct ScoutOptions {
  double share = 0;            // share of the episodes; 0: no scout
  double minimum_share = 0.2;  // part of it that always remains
  // its networks: mlp with these hidden layers, or residual with the sizes of the agent's
  NetworkKind kind = NetworkKind::mlp;
  std::vector<int> hidden = {128, 128};
  int n_step = 0;  // 0: train.n_step
};

// The bandit that chooses the critics' optimism (bandit.h).
struct TopOptions {
  std::vector<double> arms = {-1, 0};
  double rate = 0.1;  // change of a weight for a gain of one standard deviation
};

// A second actor for exploring, on the same critics (actor_critic/optimist.h).
struct DacOptions {
  float spread = 1.25f;      // factor of its standard deviation when it acts
  float divergence = 0.25f;  // target divergence from the policy for each action dimension
  float optimism = 1;        // beta before the first update; above -1
  float weight = 1;          // tau, the weight of the divergence, before the first update
  int copy_updates = 25000;  // updates after which it restarts from the policy; 0: never

  bool operator==(const DacOptions&) const = default;
};

// Information-directed sampling (discrete/).
struct IdsOptions {
  int bins = 5;  // values of each action dimension
  int max_actions = 1000;
  double lambda = 0.1;  // width of the confidence bounds in standard deviations
};

// The actions of the warm-up of a Gaussian policy: those of the untrained policy, uniform in
// [-1, 1], or those of the behaviour policy, as after the warm-up.
enum class WarmUpActions { policy, uniform, behaviour };
template <>
inline constexpr Names<WarmUpActions> kNames<WarmUpActions> = {
    {WarmUpActions::policy, "policy"},
    {WarmUpActions::uniform, "uniform"},
    {WarmUpActions::behaviour, "behaviour"}};

// The learner's part of the table "train".
struct TrainOptions {
  int envs = 1;  // environments that the agent explores, taken in turn
  WarmUpActions warmup_actions = WarmUpActions::policy;
  int batch = 256;
  int replay = 100'000;
  float discount = 0.99f;
  int n_step = 1;  // rewards in a return before it is bootstrapped
  AdamOptions adam = {};
  float polyak = 5e-3f;
  // the quantile algorithms draw a' in their targets from the actor's target network
  bool target_policy = true;
  int actor_every = 1;    // critic updates for each update of the actor and the temperature
  float temperature = 1;  // initial value, for a Gaussian policy
  bool tune_temperature = true;
  float target_std = 0;  // its target entropy is that of this standard deviation; 0: -dim(A)
  bool normalise_observations = false;  // see Agent::set_scaling()
  bool scale_rewards = false;           // see reward_scale.h

  bool operator==(const TrainOptions&) const = default;
};

// SAC: a squashed Gaussian whose entropy is rewarded. TD3: an action without noise. IDS: one of
// finitely many actions.
enum class PolicyKind { gaussian, deterministic, greedy };

// Hidden layers and outputs of the two networks of random network distillation.
struct RndNetwork {
  std::vector<int> hidden = {128, 128};
  int outputs = 64;

  bool operator==(const RndNetwork&) const = default;
};

// The tables of a learner, besides `network` and `train`. Plain numbers, for a GPU.
struct LearnerTables {
  CriticOptions critic = {};
  Td3Options td3 = {};
  RndOptions rnd = {};
  DacOptions dac = {};

  bool operator==(const LearnerTables&) const = default;
};

// The tables of the other parts of an agent.
struct AgentTables {
  BehaviourOptions behaviour = {};
  ScoutOptions scout = {};
  TopOptions top = {};
  IdsOptions ids = {};
};

// The options of a learner, besides the shapes of its networks. An agent on a GPU has the same
// struct in its record (cuda/agent.h).
struct LearnerNumbers : LearnerTables {
  int observation_size = 0;
  int action_size = 0;
  std::uint64_t seed = 0;

  // the algorithm's (algorithm.h)
  bool distributional = true;  // quantile loss and a target policy; otherwise the squared loss
  PolicyKind policy = PolicyKind::gaussian;

  TrainOptions train = {};

  // numbers in a row of the replay buffer
  int row_floats() const { return replay_row_floats(observation_size, action_size); }
  bool operator==(const LearnerNumbers&) const = default;
};

struct LearnerOptions : LearnerNumbers {
  NetworkOptions network;
  RndNetwork rnd_network;
  bool optimist = false;  // a second actor explores

  bool operator==(const LearnerOptions&) const = default;
};

}  // namespace ovde
