// What every learner is made of, reports and saves: the options it is built from, the report of an
// update, the values it sees, and its state. How it learns is its own (actor_critic/, discrete/).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ovde/explorer.h>
#include "agent/algorithm.h"
#include "nn/adam.h"
#include "nn/batch.h"

namespace ovde {

// ---- what it is made of

// TD3's actor (Fujimoto et al., 2018).
struct Td3Options {
  float smoothing = 0.2f;  // standard deviation of the noise on the target policy's actions
  float clip = 0.5f;       // and its largest size
  int delay = 2;           // updates of the critics for each of the actor and the target networks
  float penalty = 0;       // what the actor's loss charges for the squares of its outputs
};

// How a distributional critic represents the return: fixed fractions, an output for each (qr), or
// fractions that the network is given, drawn at random (iqn) or fixed (embedded).
enum class CriticHead { qr, iqn, embedded };
inline bool is_implicit(CriticHead head) { return head != CriticHead::qr; }

// What a quantile at a random fraction counts in a mean, in the actor's loss and while acting: the
// width of its interval, or all alike.
enum class QuantileWeights { widths, equal };

// Of which values of the two critics the actor's loss takes the smaller: of their means (Eq. 6), or
// quantile by quantile.
enum class Minimum { means, quantiles };

// TQC (Kuznetsov et al., 2020), with two critics.
inline constexpr int kTqcQuantiles = 25, kTqcDropped = 2;

// How target networks start: as copies of the networks, or drawn on their own.
enum class TargetStart { copies, own };
// What is added to the number of a network for the numbers that its target is drawn from.
inline constexpr std::uint32_t kOwnTarget = 8;

// Products of matrices on a GPU: of numbers rounded to 10 bits of mantissa and summed in fp32, or
// all in fp32.
enum class Precision { tf32, fp32 };

// The bonus of random network distillation (rnd.h).
struct RndOptions {
  float scale = 1;  // of the bonus
  // errors count relative to their mean over the batch, and the bonus does not fade; otherwise to
  // the deviation of the intrinsic return so far
  bool relative = false;
  bool discounted = false;  // where the return is noisy (noise_discount.h)
  float tolerance = 1;      // to noise: at this many times the usual one half of the bonus is left
  std::vector<int> hidden = {128, 128};
  int outputs = 64;
};

// A second actor for exploring, on the same critics (actor_critic/optimist.h).
struct OptimistOptions {
  float spread = 1.25f;      // what its standard deviation is multiplied by where it acts
  float divergence = 0.25f;  // aimed at, from the policy, for each dimension of the action
  float optimism = 1;        // beta, before the first update; above -1
  float weight = 1;          // tau, of the divergence in its loss, likewise
  int copy_updates = 25000;  // after so many updates it starts again from the policy; 0: never
};

// Of the weights and biases of a critic's last layer, by Initialisation::base.
inline constexpr float kCriticOutputRange = 3e-3f;

struct LearnerOptions {
  int observation_size = 0;
  int action_size = 0;
  std::vector<int> hidden = {256, 256};
  Initialisation init = Initialisation::base;  // of the critics
  CriticHead head = CriticHead::qr;
  bool norm = false;  // the critics' hidden layers are normalised
  int quantiles = 20;
  QuantileWeights weights = QuantileWeights::widths;
  Minimum minimum = Minimum::means;
  // in targets and in the actor's loss two critics count as their mean + optimism half their
  // distance: -1, the smaller
  float optimism = -1;
  // targets are the smallest of all values of both critics, without so many for each critic
  // (critic/truncation.h); 0: the smaller of the two critics, quantile by quantile
  int dropped = 0;
  TargetStart targets = TargetStart::copies;
  UncertaintyForm uncertainty;
  // quantile loss and a target policy; otherwise squared loss and the online policy
  bool distributional = true;
  PolicyKind policy = PolicyKind::gaussian;
  Td3Options td3;                           // for the deterministic policy
  std::optional<RndOptions> rnd;            // with it: the rewards of an update have the bonus
  std::optional<OptimistOptions> optimist;  // with it: a second actor explores
  int batch = 256;
  int n_step = 1;  // rewards in a return, before the critics say the rest (n_step.h)
  float discount = 0.99f;
  float polyak = 5e-3f;
  float temperature = 1;  // of a Gaussian policy, before the first update
  bool tunes_temperature = true;
  AdamOptions adam;
  std::uint64_t seed = 0;
};

// ---- what it reports

struct UpdateReport {
  double critic_loss = 0;             // mean of the two critics'
  std::optional<double> actor_loss;   // empty: there is no actor
  std::optional<double> temperature;  // empty: there is none
};

// Mean over a batch, at the policy's own actions.
struct ValueReport {
  double mean = 0, epistemic = 0, aleatoric = 0;
};
// Of two critics' quantiles (N x batch), and what each counts (likewise, N in all; null: all
// alike).
ValueReport value_report(const Batch& first, const Batch& second, const UncertaintyForm& form,
                         const Batch* weights = nullptr);

// ---- what it saves

// Arrays with names, which the saved file repeats.
using StateArrays = std::vector<std::pair<std::string, std::span<float>>>;
using StateStatistics = std::vector<std::pair<std::string, std::span<double>>>;

// Everything that an update reads and changes; after writing into it call restored().
struct LearnerState {
  StateArrays arrays;
  StateStatistics statistics;  // what single precision would not keep exactly
  std::uint64_t* updates;
};

void add_network(const std::string& name, Trained& net, StateArrays& arrays);

}  // namespace ovde
