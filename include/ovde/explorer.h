// Behaviour policies and their registry. An explorer keeps the policy's standard deviation and
// moves its mean, before the squash: a function (observation, actor head, critics) -> mean. A
// program adds one by implementing Explorer and registering it; `--algo NAME` then trains with it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ovde/option.h>
#include <ovde/random.h>
#include <ovde/uncertainty.h>

namespace ovde {

// The policy's Gaussian at one observation, before the squash.
struct ActorHead {
  explicit ActorHead(int actions) : mean(actions), std(actions) {}
  std::vector<double> mean, std;
};

// One number for each quantile of each critic: the quantiles themselves, or a gradient with respect
// to them.
struct QuantilePair {
  QuantilePair() = default;
  explicit QuantilePair(int quantiles)
      : critic{std::vector<double>(quantiles), std::vector<double>(quantiles)},
        weight(quantiles, 1.0) {}
  int size() const { return static_cast<int>(critic[0].size()); }
  std::vector<double> critic[2];
  std::vector<double> weight;  // weights of the quantiles in a mean, N in all
  UncertaintyForm form = {};
};

// The two uncertainties of a pair.
Uncertainty uncertainty(const QuantilePair& z);

// out = by_mean * d mean/dz + by_epistemic * d epistemic/dz + by_aleatoric * d aleatoric/dz. The
// derivative of an uncertainty that is zero is taken as zero.
void uncertainty_gradient(const QuantilePair& z, const Uncertainty& u, double by_mean,
                          double by_epistemic, double by_aleatoric, QuantilePair& out);

// The two critics at one (s, a), and gradients of functions of their quantiles by the action.
class Critics {
 public:
  virtual ~Critics() = default;

  // Evaluates both critics; the result stays valid until the next call. `random`: for random
  // fractions, one set for each call, the same for both critics.
  virtual const QuantilePair& quantiles(std::span<const float> observation,
                                        std::span<const float> action, Random& random) = 0;

  // d f / d action at the (s, a) of the last quantiles(), given d f / d z.
  virtual void action_gradient(const QuantilePair& quantile_gradient,
                               std::span<double> gradient) = 0;
};

class Explorer {
 public:
  virtual ~Explorer() = default;

  // Moves `mean` (on entry head.mean), before the squash; actions are tanh of it, in [-1, 1].
  // Returns the weight of the step (the paper's m), or NaN where the method has none. Called in
  // every step, so it should not allocate; with train.envs above 1 consecutive calls belong to
  // different environments. Random numbers come from `random` alone.
  virtual double shift(std::span<const float> observation, const ActorHead& head, Critics& critics,
                       Random& random, std::span<double> mean) = 0;
};

struct DeviceRule;  // an explorer's equations on a GPU (agent/explore/rules.h)

struct ExplorerType {
  std::string name = {};     // also the name of the algorithm that is DSAC with this explorer
  std::string summary = {};  // one line for `ovde list algos`
  // Keys of table "explore". A key that another explorer has too must have the same default.
  std::vector<Option> options = {};
  // Called for every agent, on several threads at once.
  std::function<std::unique_ptr<Explorer>(const OptionValues&, int actions, int quantiles)> make =
      {};
  // Empty: the explorer runs on the CPU only.
  std::function<DeviceRule(const OptionValues&)> device = {};
};

// Registers an explorer; throws Error if the name is taken or an option contradicts another's. Not
// thread-safe: register before training starts.
void register_explorer(ExplorerType type);

}  // namespace ovde
