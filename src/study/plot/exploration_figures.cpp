#include "study/plot/exploration_figures.h"

#include <algorithm>

#include <fmt/format.h>

#include <ovde/error.h>
#include "run/run_folder.h"
#include "study/plot/heat_maps.h"

namespace ovde {

namespace {

constexpr std::size_t kShownEpochs = 4;

constexpr const char* kStateSigns = "Triangle: start; circle: goal.";

std::string scale_text(Scale scale) {
  return scale == Scale::own ? "each map has its own scale" : "maps of one kind share their scale";
}

std::string beliefs_caption(Scale scale) {
  return fmt::format(
      "at the policy's action in every state; {}. |Q1 - Q2| / 2 is the uncertainty that OAC and "
      "DOAC use. {}",
      scale_text(scale), kStateSigns);
}

HeatMap over_states(const StateMap& map, const std::string& title, const Grid& grid,
                    Shading shading) {
  HeatMap out{.title = title, .grid = grid, .shading = shading};
  out.markers = {{Marker::Kind::triangle, map.start}};
  if (map.goal_radius > 0) out.circles = {{map.goal, map.goal_radius}};
  return out;
}

HeatMap noise_map(const StateMap& map) {
  return over_states(map, "noise of the task", noise_over_states(map), Shading::noise);
}

// Critics without quantiles have only the last map.
std::vector<HeatMap> state_maps(const Exploration& run, int epoch) {
  const StateBeliefs beliefs = run.over_states(epoch);
  const auto belief = [&](const char* title, const Grid& grid) {
    return over_states(run.map(), title, grid, Shading::belief);
  };
  const HeatMap disagreement = belief("|Q1 - Q2| / 2", beliefs.disagreement);
  if (!run.distributional()) return {disagreement};
  return {belief("epistemic", beliefs.epistemic), belief("aleatoric", beliefs.aleatoric),
          belief("epistemic / aleatoric", beliefs.ratio), disagreement};
}

// Critics without quantiles have only the first map.
std::vector<HeatMap> action_maps(const Exploration& run, int epoch, std::array<double, 2> state) {
  const ActionBeliefs beliefs = run.over_actions(epoch, state);
  const auto belief = [&](const char* title, const Grid& grid) {
    return HeatMap{
        .title = title, .grid = grid, .markers = {{Marker::Kind::cross, beliefs.policy}}};
  };
  const HeatMap epistemic = belief("epistemic", beliefs.epistemic);
  if (!run.distributional()) return {epistemic};
  return {epistemic, belief("aleatoric", beliefs.aleatoric),
          belief("exploration ability F", beliefs.ability)};
}

std::string epoch_name(int epoch) { return fmt::format("epoch {}", epoch); }

std::string visits_caption(std::int64_t first, std::int64_t last) {
  return fmt::format(
      "Left: the task's noise, the standard deviation of one step. Then the visits of the "
      "exploring agent in environment steps {} to {} (logarithmic; white: never). {}",
      first, last, kStateSigns);
}

class StudyMaps {
 public:
  StudyMaps(const StudyResults& results, const fs::path& study, std::vector<std::string>& remarks)
      : results_(results), study_(study), remarks_(remarks) {}

  std::vector<Figure> draw() {
    for (const PlanRow& row : results_.plan.rows) {
      HeatRow visits{row.name, {}};
      for (const PlanColumn& column : results_.plan.columns) {
        const CellResult& result = results_.find(row.name, column.name);
        if (result.runs.empty() || result.cell.imported) continue;
        try {
          add(Exploration(
                  find_agent(study_ / result.cell.folder, result.runs.front().seed).value()),
              row, column, visits);
        } catch (const InputError& error) {
          remarks_.push_back(
              fmt::format("maps of {} / {}: {}", row.name, column.name, error.what()));
        }
      }
      if (!visits.maps.empty()) visits_.push_back(std::move(visits));
    }

    std::vector<Figure> out;
    if (!visits_.empty()) {
      out.push_back(heat_figure("visits", caption_ + " The first seed of each cell.", {"x", "y"},
                                visits_, scale()));
    }
    if (!states_.empty()) {
      out.push_back(heat_figure("states",
                                fmt::format("Uncertainties of the critics after epoch {}, {}",
                                            epoch_, beliefs_caption(scale())),
                                {"x", "y"}, states_, scale()));
    }
    out.insert(out.end(), actions_.begin(), actions_.end());
    return out;
  }

 private:
  Scale scale() const {
    return results_.plan.maps && results_.plan.maps->shared_scale ? Scale::shared : Scale::own;
  }

  void add(const Exploration& run, const PlanRow& row, const PlanColumn& column, HeatRow& visits) {
    const std::optional<Maps>& maps = results_.plan.maps;
    std::int64_t first = 0, last = run.steps();
    if (maps && !maps->steps.empty()) {
      first = static_cast<std::int64_t>(maps->steps[0]);
      last = static_cast<std::int64_t>(maps->steps[1]);
    }
    const std::string name =
        results_.plan.rows.size() == 1 ? column.name : fmt::format("{}, {}", row.name, column.name);
    if (last > run.steps())
      throw InputError(fmt::format("only steps 0-{} were recorded", run.steps()));
    if (visits.maps.empty()) visits.maps.push_back(noise_map(run.map()));
    visits.maps.push_back(
        over_states(run.map(), column.name, run.visits(first, last), Shading::visits));
    caption_ = visits_caption(first, last);

    std::vector<int> epochs = some_epochs(run.epochs());
    if (maps && !maps->epochs.empty()) epochs.assign(maps->epochs.begin(), maps->epochs.end());
    if (epochs.empty()) return;
    epoch_ = epochs.back();
    states_.push_back({name, state_maps(run, epoch_)});
    if (column.role == Role::ours) {
      std::array<double, 2> state = run.map().start;
      if (maps && !maps->state.empty()) state = {maps->state[0], maps->state[1]};
      actions_.push_back(actions_figure(run, epochs, state, scale(),
                                        fmt::format("actions_{}", actions_.size() + 1)));
      actions_.back().caption = fmt::format("{}: {}", name, actions_.back().caption);
    }
  }

  const StudyResults& results_;
  fs::path study_;
  std::vector<std::string>& remarks_;
  std::string caption_;
  int epoch_ = 0;  // epoch of states_
  std::vector<HeatRow> visits_, states_;
  std::vector<Figure> actions_;
};

}  // namespace

std::vector<int> some_epochs(const std::vector<int>& epochs) {
  if (epochs.size() <= kShownEpochs) return epochs;
  std::vector<int> out;
  for (std::size_t i = 1; i <= kShownEpochs; ++i)
    out.push_back(epochs[i * epochs.size() / kShownEpochs - 1]);
  return out;
}

Figure visits_figure(const Exploration& run, std::int64_t first, std::int64_t last) {
  const HeatMap visits = over_states(run.map(), "visits", run.visits(first, last), Shading::visits);
  return heat_figure("visits", visits_caption(first, last), {"x", "y"},
                     {{"", {noise_map(run.map()), visits}}});
}

Figure states_figure(const Exploration& run, const std::vector<int>& epochs, Scale scale) {
  std::vector<HeatRow> rows;
  for (const int epoch : epochs) rows.push_back({epoch_name(epoch), state_maps(run, epoch)});
  return heat_figure("states",
                     fmt::format("Uncertainties of the critics after each of these epochs, {}",
                                 beliefs_caption(scale)),
                     {"x", "y"}, rows, scale);
}

Figure actions_figure(const Exploration& run, const std::vector<int>& epochs,
                      std::array<double, 2> state, Scale scale, const std::string& name) {
  std::vector<HeatRow> rows;
  for (const int epoch : epochs)
    rows.push_back({epoch_name(epoch), action_maps(run, epoch, state)});
  const auto& names = run.map().action_names;
  return heat_figure(
      name,
      fmt::format(
          "Uncertainties of the critics over the actions in state ({}, {}), and the exploration "
          "ability F = Φ log(Φ / C), whose gradient OVD-Explorer follows; {}. Cross: the "
          "policy's action.",
          state[0], state[1], scale_text(scale)),
      {names[0], names[1]}, rows, scale);
}

std::vector<Figure> study_maps(const StudyResults& results, const fs::path& study,
                               std::vector<std::string>& remarks) {
  return StudyMaps(results, study, remarks).draw();
}

}  // namespace ovde
