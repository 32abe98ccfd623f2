// The leaderboard of a suite: policies that were trained without disturbance and policies that were
// trained under a disturbance, both tested under it. It is made from a study's plan and from what
// stress tests of its runs wrote to episodes.csv. docs/stress.md has the definitions.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "study/plan/plan.h"
#include "study/report/tables.h"

namespace ovde {

struct Leaderboard {
  Table typical, worst;  // mean scores over the tasks, best first: a line for each algorithm and
                         // way of training, a column for each disturbance
  std::vector<Table> tasks;  // interquartile means of the returns on each task
  std::string csv;           // a line for each task, disturbance, severity, column and training
};

// `tests`: folders of stress tests. InputError if they are not of the plan's runs.
Leaderboard make_leaderboard(const Plan& plan, std::span<const fs::path> tests);

// Writes leaderboard.html, leaderboard.md and leaderboard.csv into the folder; the path of the
// page.
fs::path write_leaderboard(const Plan& plan, const Leaderboard& leaderboard,
                           const fs::path& folder);

}  // namespace ovde
