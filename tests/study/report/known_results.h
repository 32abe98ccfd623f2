// Results of a study whose answer is known.
#pragma once

#include <random>
#include <string>

#include "study/analyse/results.h"

namespace ovde {

inline const std::string kKnownStudy = R"toml(
title = "Known & <answers>"
measures = ["score", "frg"]
show = ["table", "curves", "bars", "profile"]
epochs = 100
seeds = "0-9"
[[row]]
name = "clear"
task = "GridChaos-v0:a"
[[row]]
name = "same"
task = "GridChaos-v0:b"
[[row]]
name = "empty"
task = "GridChaos-v0:c"
[[group]]
name = "Average"
rows = ["clear", "same"]
[[column]]
name = "DSAC"
algorithm = "dsac"
[[column]]
name = "OVDE"
algorithm = "ovde_g"
role = "ours"
[paper]
source = "a table"
[paper.score]
clear = { DSAC = [1.5, 0.5], OVDE = 59.3 }
[paper.p_value]
clear = { DSAC = 0.013 }
same = { DSAC = "<0.001" }
[paper.frg]
clear = { DSAC = "1250+", OVDE = 229 }
)toml";

// Ours is better by ten deviations in `clear`, reaches the goal only there, and is the same in
// `same`; `empty` was not run.
inline StudyResults known_results() {
  StudyResults out;
  out.plan = parse_plan(kKnownStudy, "known.toml");
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0, 1);
  for (Cell& cell : expand(out.plan)) {
    CellResult result{cell, {}};
    const bool better = cell.row == "clear" && cell.column == "OVDE";
    for (std::uint64_t seed : cell.seeds) {
      if (cell.row == "empty") break;
      RunResult run{.seed = seed, .has_goal = true};
      for (int epoch = 0; epoch < cell.epochs; ++epoch)
        run.returns.push_back((better ? 0.2 : 0.1) * epoch + noise(random));
      run.score = (better ? 20 : 10) + noise(random);
      if (better) run.first_goal_epoch = 7 + static_cast<int>(seed);
      result.runs.push_back(std::move(run));
    }
    out.cells.push_back(std::move(result));
  }
  return out;
}

}  // namespace ovde
