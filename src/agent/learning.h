// What every learner reports and saves: the report of an update, the values it sees, and its state.
// Its options are options.h; how it learns is its own (actor_critic/, discrete/).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/options.h"
#include "nn/adam.h"
#include "nn/batch.h"

namespace ovde {

// Stream offset for the initialisation of target networks that start on their own.
inline constexpr std::uint32_t kOwnTarget = 8;

// Range of a critic's last layer with Initialisation::base.
inline constexpr float kCriticOutputRange = 3e-3f;

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
