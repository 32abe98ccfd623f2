// The parts that all learners share: the report of an update, the state that is saved, and networks
// with their first values. The learners are actor_critic/learner.h and discrete/agent.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/critic/uncertainty.h"
#include "agent/options.h"
#include "nn/network.h"

namespace ovde {

struct UpdateReport {
  double critic_loss = 0;             // mean over the two critics
  std::optional<double> actor_loss;   // empty: there is no actor
  std::optional<double> temperature;  // empty: there is none
};

// `first`, `second`: the critics' quantiles (N x batch). `weights`: the weight of each (N x batch),
// N in all; null: 1.
ValueReport value_report(const Batch& first, const Batch& second, const UncertaintyForm& form,
                         const Batch* weights = nullptr);

// Named arrays of the saved state.
using StateArrays = std::vector<std::pair<std::string, std::span<float>>>;
using StateStatistics = std::vector<std::pair<std::string, std::span<double>>>;

// Everything that an update reads and changes. After writing into it call restored().
struct LearnerState {
  StateArrays arrays;
  StateStatistics statistics;  // in double precision
  std::uint64_t* updates;
};

// The array with the parameters of a network: "actor.parameters".
std::string parameters_of(const std::string& network);
// Whether an array holds the parameters or statistics of a network, not its target or moments.
bool holds_parameters(const std::string& array);

// Calls visit(name, array) for each array of a network in training, here or on a GPU: parameters,
// Adam's moments and the target network's parameters.
template <typename Net, typename Visit>
void for_each_network_array(const std::string& network, Net&& net, Visit&& visit) {
  visit(parameters_of(network), net.parameters);
  visit(network + ".first_moment", net.first_moment);
  visit(network + ".second_moment", net.second_moment);
  visit(network + ".target", net.target);
}
// The name of its running statistics.
inline std::string statistics_of(const std::string& network) { return network + ".statistics"; }

void add_network(const std::string& name, Trained& net, StateArrays& arrays);

// ---- networks, with their first parameters

// Stream offset for the initialisation of target networks that start on their own.
inline constexpr std::uint32_t kOwnTarget = 8;

// Range of a critic's last layer with Initialisation::base.
inline constexpr float kCriticOutputRange = 3e-3f;

// First parameters of network number `number` and of its target network. fill(number, parameters)
// draws them from the stream of that number.
template <typename Fill>
void initialise_pair(TargetStart start, std::uint32_t number, Trained& net, Fill&& fill) {
  fill(number, net.parameters);
  net.target = net.parameters;
  if (start == TargetStart::own) fill(kOwnTarget + number, net.target);
}

// The actor's network (observations to outputs). `second`: see NetworkUse.
std::unique_ptr<Network> make_actor_network(const LearnerOptions& options, int outputs,
                                            NetworkUse::Second second);

// The network of critic number k (observation above action to outputs), which may run on one thread
// while the other critic's runs on another.
std::unique_ptr<Network> make_critic_network(const LearnerOptions& options, int outputs, int k);

// The critics' network as in acting.
MlpShape critic_acting_shape(const LearnerOptions& options, int outputs);

}  // namespace ovde
