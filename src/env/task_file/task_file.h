// A task file (docs/task_files.md): a MuJoCo model with its controls, observations, rewards and
// ends of episodes. Reading it checks every name against the model and compiles the formulas;
// errors have file, line and the nearest name.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "env/mujoco/task.h"
#include "env/task_file/expression.h"

namespace ovde {

struct TaskFile {
  // Randomness of the first state.
  struct Draw {
    enum class Kind { uniform, normal, range, disc };  // the first two add, the others set
    Kind kind = Kind::uniform;
    bool velocities = false;
    std::vector<int> coordinates = {};
    double low = 0, high = 0;  // half-width, deviation or radius: in `high`
  };
  // Numbers that are drawn for each episode and that formulas read as command.<name>.
  struct Command {
    std::string name;
    Value cells = {};
    std::vector<double> low = {}, high = {};
    int every = 0;  // steps after which they are drawn again; 0: never
  };
  // A named formula whose result is in one cell, or in several for an observation.
  struct Term {
    std::string name, where;  // "hopper.toml:12"
    Value value = {};
  };

  MujocoTask task;  // without its rules; its name is the path as it was given
  std::string model_path;

  std::vector<int> actuators;         // the controlled ones
  std::vector<double> centre, scale;  // control = centre + scale * action
  // Controlled actuators that some action takes beyond their ctrlrange, to which MuJoCo clips.
  std::vector<int> clipped;

  std::vector<double> start_positions, start_velocities;
  std::vector<Draw> draws;
  std::vector<Command> commands;

  std::vector<double> cells;  // first values
  Value action;
  std::vector<Value> snapshots;
  Program before, rewards, ends, observe;
  std::vector<Term> reward, end, observed;
  std::optional<Term> success;
  Value observation;
  std::vector<std::string> unused_sensors;
};

// `is_new`: for a new run, with more checks; runs of earlier versions must stay readable.
std::shared_ptr<const TaskFile> read_task_file(const std::string& path, bool is_new);
// The file for a new run, which can keep a copy of it; known afterwards (env/registry.h).
std::shared_ptr<const TaskFile> new_task_file(const std::string& path);

MujocoTask mujoco_task(const std::shared_ptr<const TaskFile>& file);

}  // namespace ovde
