// Compares a task with rollouts recorded elsewhere: sets their start states, applies their actions
// and reports the largest difference of each quantity. docs/mujoco.md describes the file.
#pragma once

#include <string>

namespace ovde {

struct ReplayResult {
  std::string task;
  std::string arch;  // architecture of the recording machine; empty: unknown
  int rollouts = 0;
  int steps = 0;  // in all rollouts

  // largest absolute differences; NaN counts as infinite
  double first_observation = 0;
  double observation = 0;
  double reward = 0;
  int ends = 0;  // steps whose `terminated` differs

  bool within(double tolerance) const;
};

// Replays with `task` in place of the recording's own task, unless empty. Throws InputError if the
// file is not a valid recording or the task cannot be replayed.
ReplayResult replay(const std::string& path, const std::string& task = "");

}  // namespace ovde
