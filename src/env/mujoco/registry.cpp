// The MuJoCo tasks by name.
#include "env/builtin.h"
#include "env/mujoco/task.h"

namespace ovde {

namespace {

// As Gymnasium has it.
Task standard(const MujocoTask& task) {
  Task entry;
  entry.name = task.name + "-v4";
  entry.summary = task.summary;
  entry.horizon = task.horizon;
  entry.steps_per_epoch = 1000;
  entry.make = [task](const OptionValues&) { return make_mujoco_env(task); };
  return entry;
}

// The same with the paper's short episodes and noise, whose form and size docs/tasks.md derives.
Task noisy(const MujocoTask& task) {
  Task entry = standard(task);
  entry.name = "Noisy" + entry.name;
  entry.summary = task.name + "-v4 with noise in every transition";
  entry.horizon = 100;
  entry.steps_per_epoch = 100;
  entry.brings = {{"noise.transition", true},
                  {"noise.scales", std::vector<double>{0, 0.03, 0.06}},
                  {"noise.part", "velocities"},
                  {"noise.relative", true}};
  return entry;
}

std::vector<MujocoTask> all_tasks() {
  // those of the paper, then the others
  return {ant_task(),
          half_cheetah_task(),
          hopper_task(),
          inverted_double_pendulum_task(),
          pusher_task(),
          reacher_task(),
          inverted_pendulum_task(),
          swimmer_task(),
          walker2d_task()};
}

}  // namespace

std::vector<Task> mujoco_tasks() {
  std::vector<Task> entries;
  for (const MujocoTask& task : all_tasks()) entries.push_back(standard(task));
  for (const MujocoTask& task : all_tasks()) entries.push_back(noisy(task));
  return entries;
}

std::optional<MujocoTask> find_mujoco_task(const std::string& id) {
  for (const MujocoTask& task : all_tasks()) {
    if (id == standard(task).name || id == noisy(task).name) return task;
  }
  return std::nullopt;
}

}  // namespace ovde
