#include "study/analyse/exploration.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "agent/explore/explorer.h"
#include "run/progress_csv.h"
#include "run/run_folder.h"

namespace ovde {

namespace {

constexpr int kVisitCells = 40, kBeliefCells = 60;

StateMap map_of(const Config& config) {
  const Task& task = find_task(config.task);
  if (!task.map || config.disturbances.history > 0) {
    throw InputError(fmt::format(
        "task {} {}: only tasks whose observation is a position can be inspected", task.name,
        task.map ? "with task.history observes more than a position" : "has no map"));
  }
  return task.map(config.task_options);
}

Grid over_map(const StateMap& map, int cells) { return {map.low, map.high, cells}; }

}  // namespace

Exploration::Exploration(const fs::path& run)
    : run_(run),
      config_((check_run_folder(run), read_config(run))),
      map_(map_of(config_)),
      visits_(read_visits(run)),
      epochs_(recorded_epochs(run)) {
  const auto done = std::ssize(read_progress(run));
  for (const int epoch : config_.record.networks) {
    if (epoch < done && std::ranges::find(epochs_, epoch) == epochs_.end())
      missing_epochs_.push_back(epoch);
  }
  const std::array<double, 2> any = {};
  if (!epochs_.empty() && agent_at(epochs_.back())->quantiles(any, any) == nullptr) epochs_.clear();
}

Grid Exploration::visits(std::int64_t first, std::int64_t last) const {
  const auto chosen = std::span(visits_).subspan(static_cast<std::size_t>(first),
                                                 static_cast<std::size_t>(last - first));
  Grid grid = over_map(map_, kVisitCells);
  count_visits(chosen, grid);
  return grid;
}

std::unique_ptr<Agent> Exploration::agent_at(int epoch) const {
  if (std::ranges::find(epochs_, epoch) == epochs_.end()) {
    throw InputError(
        fmt::format("{} kept no networks of epoch {}; it has those of {}", run_.string(), epoch,
                    epochs_.empty() ? "none" : fmt::format("{}", fmt::join(epochs_, ", "))));
  }
  return read_networks(run_, epoch, config_);
}

StateBeliefs Exploration::over_states(int epoch) const {
  const auto agent = agent_at(epoch);
  const Grid grid = over_map(map_, kBeliefCells);
  StateBeliefs out{grid, grid, grid, grid};
  std::vector<double> action(agent->options().learner.action_size);
  grid.for_each_cell([&](int column, int row, double x, double y) {
    const std::array<double, 2> state = {x, y};
    agent->act(state, action);
    const QuantilePair& z = *agent->quantiles(state, action);
    const Uncertainty u = uncertainty(z);
    out.epistemic.at(column, row) = u.epistemic;
    out.aleatoric.at(column, row) = u.aleatoric;
    out.ratio.at(column, row) = u.epistemic / std::max(u.aleatoric, kAleatoricFloor);
    out.disagreement.at(column, row) = std::abs(mean_difference(z)) / 2;
  });
  return out;
}

ActionBeliefs Exploration::over_actions(int epoch, std::array<double, 2> state) const {
  const auto agent = agent_at(epoch);
  // runs of other algorithms show the exploration ability of ovde_g
  const std::string& explorer = find_algorithm(config_.algorithm).explorer;
  const OvdRule rule = ovd_rule(is_ovd_explorer(explorer) ? explorer : "ovde_g", config_.explore);
  SortedQuantiles sorted(config_.critic.quantiles);

  const Grid grid({-1, -1}, {1, 1}, kBeliefCells);
  ActionBeliefs out{grid, grid, grid, {}};
  agent->act(state, out.policy);
  grid.for_each_cell([&](int column, int row, double x, double y) {
    const std::array<double, 2> action = {x, y};
    const QuantilePair& z = *agent->quantiles(state, action);
    const Uncertainty u = uncertainty(z);
    const double phi = rule.cdf(u, sorted.sort(z), rule.upper_bound(u));
    out.epistemic.at(column, row) = u.epistemic;
    out.aleatoric.at(column, row) = u.aleatoric;
    out.ability.at(column, row) = rule.ability(phi);
  });
  return out;
}

void count_visits(std::span<const Position> positions, Grid& grid) {
  for (const Position& position : positions) {
    int index[2];
    bool inside = true;
    for (int axis = 0; axis < 2; ++axis) {
      const double share = (position[axis] - grid.low[axis]) / (grid.high[axis] - grid.low[axis]);
      inside &= share >= 0 && share <= 1;  // false for a NaN
      index[axis] = inside ? std::min(static_cast<int>(share * grid.cells), grid.cells - 1) : 0;
    }
    if (inside) ++grid.at(index[0], index[1]);
  }
}

Grid noise_over_states(const StateMap& map) {
  Grid grid = over_map(map, kBeliefCells);
  fill(grid, map.noise);
  return grid;
}

std::vector<WeighedAction> weigh_example(const Plan& plan) {
  if (plan.example.empty()) return {};
  const OvdRule rule;

  std::vector<WeighedAction> out;
  for (const ExampleAction& given : plan.example) {
    WeighedAction action{.given = given};
    const Uncertainty u{given.mean, given.epistemic, given.aleatoric};
    action.upper_bound = rule.upper_bound(u);
    action.center = GaussianReturn(u, rule.pessimism()).center;
    action.phi = rule.cdf(u, {}, action.upper_bound);
    action.ability = rule.ability(action.phi);
    out.push_back(std::move(action));
  }
  for (WeighedAction& a : out) {
    for (const WeighedAction& b : out) {
      if (a.given.panel == b.given.panel && b.ability > a.ability) a.preferred = false;
    }
  }
  return out;
}

}  // namespace ovde
