// How one run explored: where it went, and what its critics believed of states and actions at the
// epochs whose networks it kept (Fig. 3 of the paper and the figures of its appendix). Numbers
// only; the figures are study/plot/exploration_figures.h.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include <ovde/env.h>
#include "config/config.h"
#include "run/recording.h"
#include "study/analyse/grid.h"

namespace ovde {

// Over the states, at the policy's own action in each.
struct StateBeliefs {
  Grid epistemic, aleatoric;
  Grid ratio;         // epistemic / aleatoric
  Grid disagreement;  // |Q_1 - Q_2| / 2: the uncertainty that DOAC explores by
};

// Over the actions, in one state. Actions are in [-1, 1].
struct ActionBeliefs {
  Grid epistemic, aleatoric;
  Grid ability;                  // F = Phi log(Phi / C) (Proposition 1)
  std::array<double, 2> policy;  // the policy's own action
};

class Exploration {
 public:
  // InputError if the folder holds no run, its task has no map, or it recorded nothing.
  explicit Exploration(const std::filesystem::path& run);

  const Config& config() const { return config_; }
  const StateMap& map() const { return map_; }
  std::int64_t steps() const { return static_cast<std::int64_t>(visits_.size()); }
  // Whose networks are there; none if the algorithm's critics do not judge every action.
  const std::vector<int>& epochs() const { return epochs_; }
  // Whose networks the run should have kept, as far as it has come, and are not there.
  const std::vector<int>& missing_epochs() const { return missing_epochs_; }

  // Quantile critics tell the two uncertainties apart; where there is one value per critic the
  // aleatoric one is zero and the ratio and F mean nothing.
  bool distributional() const { return config_.critic.quantiles > 1; }

  // Visits in each cell in the environment steps number `first` to `last` - 1.
  Grid visits(std::int64_t first, std::int64_t last) const;

  // InputError if the networks of that epoch are not there.
  StateBeliefs over_states(int epoch) const;
  ActionBeliefs over_actions(int epoch, std::array<double, 2> state) const;

 private:
  std::unique_ptr<Agent> agent_at(int epoch) const;

  std::filesystem::path run_;
  Config config_;
  StateMap map_;
  std::vector<Position> visits_;
  std::vector<int> epochs_, missing_epochs_;
};

// Visits of `positions` in each cell; those on the upper edges belong to the last cells, those
// that are NaN to none.
Grid count_visits(std::span<const Position> positions, const StateMap& map, int cells);

// The task's own noise.
Grid noise_over_states(const StateMap& map);

}  // namespace ovde
