// What every learner shows of itself: what an update reports, the values it sees, and its state.
#pragma once

#include <cstdint>
#include <optional>

#include "agent/state_arrays.h"
#include "nn/batch.h"

namespace ovde {

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
ValueReport value_report(const Batch& first, const Batch& second, const Batch* weights = nullptr);

// Everything that an update reads and changes; after writing into it call restored().
struct LearnerState {
  StateArrays arrays;
  StateStatistics statistics;  // what single precision would not keep exactly
  std::uint64_t* updates;
};

}  // namespace ovde
