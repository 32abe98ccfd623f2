// Plays a task file with zero and with random actions and measures its numbers (`ovde check`).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ovde/env.h>

namespace ovde {

struct Extent {
  double low = 0, high = 0, mean = 0;
};

struct TaskCheck {
  // Episodes of one kind of actions.
  struct Play {
    int steps = 0, episodes = 0;
    int successes = 0;                                    // episodes in which success held
    std::vector<Extent> observation = {}, reward = {};    // per step
    double reward_mean = 0;                               // all terms together, per step
    std::vector<std::pair<std::string, int>> ends = {};   // conditions that ended episodes
    int time_limits = 0;                                  // episodes that the horizon ended
    double contacts = 0;                                  // per step
    std::vector<std::pair<std::string, int>> pairs = {};  // geoms in contact, and steps
    double seconds = 0;
  };

  std::string path = {}, summary = {}, model_path = {};
  int horizon = 0, bodies = 0, joints = 0, sensors = 0, actuators = 0;
  bool has_success = false;
  double engine_step = 0;  // seconds
  Signals signals = {};
  Box actions = {};
  std::vector<std::string> rewards = {};
  Play zero = {}, random = {};
  std::vector<std::string> remarks = {};  // things that are probably mistakes

  std::vector<Solid> solids = {};
  std::vector<Pose> poses = {};  // in the first state, of the moving ones
};

// InputError if the file is wrong or a number is not finite, with file and line.
TaskCheck check_task_file(const std::string& path, int steps, std::uint64_t seed);

}  // namespace ovde
