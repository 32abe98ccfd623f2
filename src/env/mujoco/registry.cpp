// The MuJoCo tasks by name.
#include <fmt/format.h>

#include "base/field.h"
#include "env/mujoco/task.h"
#include "env/registry.h"

namespace ovde {

namespace {

// Gymnasium's task.
Task standard(const MujocoTask& task) {
  Task entry;
  entry.name = task.name + "-v4";
  entry.summary = task.summary;
  entry.horizon = task.horizon;
  entry.steps_per_epoch = 1000;
  entry.make = [task](const OptionValues&) { return make_mujoco_env(task); };
  return entry;
}

// The task with the paper's short episodes and noise (docs/tasks.md).
Task noisy(const MujocoTask& task) {
  Task entry = standard(task);
  entry.name = "Noisy" + entry.name;
  entry.summary = task.name + "-v4 with noise in every transition";
  entry.horizon = 100;
  entry.steps_per_epoch = 100;
  entry.brings = {{"noise.transition", true},
                  {"noise.scales", std::vector<double>{0, 0.01, 0.02}},
                  {"noise.part", "velocities"}};
  return entry;
}

// The task with strong noise where one coordinate is positive, and none elsewhere.
Task patchy(const MujocoTask& task, const char* coordinate) {
  Task entry = noisy(task);
  entry.name = "Patchy" + task.name + "-v4";
  entry.summary = fmt::format("{}-v4 with noise in the transitions from states of positive {}",
                              task.name, coordinate);
  entry.brings = {{"noise.transition", true},
                  {"noise.scales", std::vector<double>{0.3}},
                  {"noise.part", "velocities"},
                  {"noise.relative", true},
                  {"noise.coordinate", coordinate},
                  {"noise.edges", std::vector<double>{0}},
                  {"noise.factors", std::vector<double>{0, 1}}};
  return entry;
}

// Rewards only crossing a line ahead, which ends the episode.
class FinishLine final : public EnvWrapper {
 public:
  FinishLine(std::unique_ptr<Env> inner, double line) : EnvWrapper(std::move(inner)), line_(line) {}

  Step step(std::span<const double> action, std::span<double> observation) override {
    Step step = inner().step(action, observation);
    step.success = *inner().as<Disturbable>()->coordinate("torso_x") >= line_;
    step.reward = step.success ? 100 : 0;
    step.terminated |= step.success;
    return step;
  }

 private:
  double line_;
};

Task sparse(const MujocoTask& task, double line) {
  Task entry = standard(task);
  entry.name = "Sparse" + entry.name;
  entry.summary = task.name + "-v4, rewarded only for crossing a line";
  entry.horizon = 100;
  entry.steps_per_epoch = 100;
  entry.has_goal = true;
  entry.options = {number("line", "where the line is, in metres from the start", 0, 1e6, line)};
  entry.make = [task](const OptionValues& options) -> std::unique_ptr<Env> {
    return std::make_unique<FinishLine>(make_mujoco_env(task), options.number("line"));
  };
  return entry;
}

std::vector<MujocoTask> all_tasks() {
  // the paper's tasks first
  return {ant_task(),
          half_cheetah_task(),
          hopper_task(),
          inverted_double_pendulum_task(),
          pusher_task(),
          reacher_task(),
          inverted_pendulum_task(),
          swimmer_task(),
          walker2d_task(),
          humanoid_task()};
}

}  // namespace

std::string mujoco_version() { return mj_versionString(); }

std::vector<Task> mujoco_tasks() {
  std::vector<Task> entries;
  for (const MujocoTask& task : all_tasks()) entries.push_back(standard(task));
  for (const MujocoTask& task : all_tasks()) entries.push_back(noisy(task));
  entries.push_back(patchy(half_cheetah_task(), "torso_pitch"));
  entries.push_back(patchy(hopper_task(), "torso_pitch"));
  entries.push_back(patchy(ant_task(), "torso_y"));
  entries.push_back(sparse(half_cheetah_task(), 5));
  entries.push_back(sparse(hopper_task(), 0.5));
  return entries;
}

std::optional<MujocoTask> find_mujoco_task(const std::string& id) {
  if (is_task_file(id)) return mujoco_task_of_file(find_task_file(id));
  for (const MujocoTask& task : all_tasks()) {
    if (id == standard(task).name || id == noisy(task).name) return task;
  }
  return std::nullopt;
}

}  // namespace ovde
