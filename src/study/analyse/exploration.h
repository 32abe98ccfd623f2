// How one run explored: the positions it visited, and its critics' uncertainties over states and
// actions at the epochs whose networks it kept (Fig. 3 of the paper and its appendix). Numbers
// only; study/plot/exploration_figures.h draws them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <ovde/env.h>
#include "base/file_system.h"
#include "config/config.h"
#include "run/recording.h"
#include "study/plan/plan.h"

namespace ovde {

// Values of a function at the centres of a regular grid of cells.
struct Grid {
  std::array<double, 2> low, high;  // corners
  int cells;                        // in each direction
  std::vector<double> values;       // row by row, lowest y first; NaN: unknown

  Grid(std::array<double, 2> low, std::array<double, 2> high, int cells)
      : low(low),
        high(high),
        cells(cells),
        values(static_cast<std::size_t>(cells) * static_cast<std::size_t>(cells)) {}

  // The centre of column (axis 0) or row (axis 1) number `index`.
  double center(int axis, int index) const {
    return low[axis] + (index + 0.5) / cells * (high[axis] - low[axis]);
  }
  double& at(int column, int row) {
    return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(cells) +
                  static_cast<std::size_t>(column)];
  }
  double at(int column, int row) const { return const_cast<Grid&>(*this).at(column, row); }

  // visit(column, row, x, y) for every cell, in the order of the values, with its centre.
  template <typename Visit>
  void for_each_cell(Visit visit) const {
    for (int row = 0; row < cells; ++row) {
      for (int column = 0; column < cells; ++column)
        visit(column, row, center(0, column), center(1, row));
    }
  }
};

// Sets every cell to value(x, y) of its centre.
template <typename Value>
void fill(Grid& grid, Value value) {
  grid.for_each_cell(
      [&](int column, int row, double x, double y) { grid.at(column, row) = value(x, y); });
}

// Uncertainties over the states, at the policy's action in each.
struct StateBeliefs {
  Grid epistemic, aleatoric;
  Grid ratio;         // epistemic / aleatoric
  Grid disagreement;  // |Q_1 - Q_2| / 2, the uncertainty that DOAC uses
};

// Uncertainties over the actions in one state. Actions are in [-1, 1].
struct ActionBeliefs {
  Grid epistemic, aleatoric;
  Grid ability;                  // F = Phi log(Phi / C) (Proposition 1)
  std::array<double, 2> policy;  // the policy's action
};

class Exploration {
 public:
  // InputError if the folder holds no run, its task has no map, or it recorded nothing.
  explicit Exploration(const fs::path& run);

  const Config& config() const { return config_; }
  const StateMap& map() const { return map_; }
  std::int64_t steps() const { return static_cast<std::int64_t>(visits_.size()); }
  // Epochs whose networks were kept; none if the algorithm's critics do not rate every action.
  const std::vector<int>& epochs() const { return epochs_; }
  // Finished epochs of record.networks whose networks are missing.
  const std::vector<int>& missing_epochs() const { return missing_epochs_; }

  // With a single value per critic the aleatoric uncertainty is zero, and the ratio and F are
  // meaningless.
  bool distributional() const { return config_.critic.quantiles > 1; }

  // Visits in each cell during the environment steps `first` to `last` - 1.
  Grid visits(std::int64_t first, std::int64_t last) const;

  // InputError if the networks of that epoch were not kept.
  StateBeliefs over_states(int epoch) const;
  ActionBeliefs over_actions(int epoch, std::array<double, 2> state) const;

 private:
  std::unique_ptr<Agent> agent_at(int epoch) const;

  fs::path run_;
  Config config_;
  StateMap map_;
  std::vector<Position> visits_;
  std::vector<int> epochs_, missing_epochs_;
};

// Counts the positions of each cell. The upper edges belong to the last cells; NaN is not
// counted.
void count_visits(std::span<const Position> positions, Grid& grid);

// The standard deviation of the task's noise.
Grid noise_over_states(const StateMap& map);

// Fig. 2 of the paper: which of several actions OVD-Explorer prefers, by the formulas that it
// explores with, from their mean and two uncertainties.
struct WeighedAction {
  ExampleAction given;
  double upper_bound = 0;  // mean + beta * epistemic
  double center = 0;       // centre of the current return: mean - beta * epistemic
  double phi = 0;          // probability that the current return is below the upper bound
  double ability = 0;      // F = Phi log(Phi / C)
  bool preferred = true;   // has the largest ability of its panel
};

// With the default beta and C.
std::vector<WeighedAction> weigh_example(const Plan& plan);

}  // namespace ovde
