// Compares a task with rollouts recorded elsewhere: sets their start states, applies their actions,
// and reports the largest difference of each quantity. The file is JSON (DESIGN: {task, rollouts:
// [{init_qpos, init_qvel, obs0, actions, obs, rewards, terminated}]}) and need not be trusted.
#pragma once

#include <string>

namespace ovde {

struct ReplayResult {
  std::string task;
  std::string arch;  // of the recording; empty: the file does not say
  int rollouts = 0;
  int steps = 0;  // in all of them

  // largest absolute differences; not-a-number counts as infinite
  double first_observation = 0;
  double observation = 0;
  double reward = 0;
  int ends = 0;  // steps whose `terminated` differs

  bool within(double tolerance) const;
};

// InputError if the file cannot be read, is not such a recording, or names a task that cannot be
// replayed.
ReplayResult replay(const std::string& path);

}  // namespace ovde
