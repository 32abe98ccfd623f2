#include "env/registry.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "env/engine_loop.h"
#include "env/renderer.h"
#include "env/task_check.h"

namespace ovde {

namespace {

std::vector<Task> builtin_tasks() {
  std::vector<Task> all;
  all.push_back(grid_chaos_task());
  for (Task& task : proving_ground_tasks()) all.push_back(std::move(task));
#ifdef OVDE_MUJOCO
  for (Task& task : mujoco_tasks()) all.push_back(std::move(task));
#endif
  for (Task& task : all) task.makes_side_by_side = true;
  return all;
}

std::vector<Task>& registry() {
  static std::vector<Task> all = builtin_tasks();
  return all;
}

// Compares names without their version, so that equal versions do not count as similarity.
std::string nearest_task(const std::string& name, const std::vector<std::string>& names) {
  const auto stem = [](const std::string& of) { return of.substr(0, of.rfind("-v")); };
  std::vector<std::string> stems;
  std::ranges::transform(names, std::back_inserter(stems), stem);
  const std::string near = nearest(stem(name), stems);
  const auto found = std::ranges::find(stems, near);
  return near.empty() || found == stems.end() ? "" : names[found - stems.begin()];
}

}  // namespace

#ifndef OVDE_MUJOCO
const Task& find_task_file(const std::string& id) {
  throw InputError(
      fmt::format("{}: a task file needs MuJoCo, which this program was built without", id));
}
void refresh_task_file(const std::string&) {}
void save_task_copy(const std::string&, const OptionValues&, const std::filesystem::path&) {}
void use_task_copy(const std::string&, const std::string&, const std::filesystem::path&) {}
std::string task_file_changes(const std::string&, const OptionValues&) { return ""; }
TaskCheck check_task_file(const std::string& path, int, std::uint64_t) {
  find_task_file(path);
  return {};
}
std::string mujoco_version() { return ""; }
std::unique_ptr<EngineLoop> make_engine_loop(const std::string&) { return nullptr; }
std::unique_ptr<Renderer> make_renderer(const std::vector<Solid>&, int, int) {
  throw InputError("cannot draw pictures: this program was built without MuJoCo");
}
#endif

Box box(int size, double low, double high) {
  return {std::vector<double>(size, low), std::vector<double>(size, high)};
}

void register_task(Task task) {
  for (const Task& known : registry()) {
    if (known.name == task.name)
      throw Error(fmt::format("task '{}' is registered twice", task.name));
  }
  if (!task.make) throw Error(fmt::format("task '{}' has no make function", task.name));
  registry().push_back(std::move(task));
}

const std::vector<Task>& tasks() { return registry(); }

bool is_built_in(const Task& task) {
  static const std::vector<Task> all = builtin_tasks();
  return std::ranges::find(all, task.name, &Task::name) != all.end();
}

const Task* registered_task(const std::string& id) {
  if (is_task_file(id)) {
    try {
      return &find_task_file(id);
    } catch (const InputError&) {
      return nullptr;
    }
  }
  const auto found = std::ranges::find(registry(), id.substr(0, id.find(':')), &Task::name);
  return found == registry().end() ? nullptr : &*found;
}

void refuse_model(const std::string& id) {
  if (!id.ends_with(".xml")) return;
  throw InputError(
      fmt::format("{} is a model; a task file beside it says what is observed and rewarded "
                  "(docs/task_files.md)",
                  id));
}

const Task& find_task(const std::string& id) {
  if (is_task_file(id)) return find_task_file(id);
  refuse_model(id);
  const std::string name = id.substr(0, id.find(':'));
  if (const Task* task = registered_task(id)) {
    if (name.size() == id.size()) return *task;
    const std::string preset = id.substr(name.size() + 1);
    std::vector<std::string> presets;
    for (const TaskPreset& p : task->presets) presets.push_back(p.name);
    if (std::ranges::find(presets, preset) != presets.end()) return *task;
    throw InputError(
        fmt::format("task '{}' has no preset '{}'; valid: {}", name, preset,
                    presets.empty() ? "none" : fmt::format("{}", fmt::join(presets, ", "))));
  }
  if (name.starts_with(kPythonTask))
    throw InputError(
        fmt::format("{} is a Python environment, which ovde.evaluate, ovde.resume and ovde.stress "
                    "of the Python package are given (docs/python.md)",
                    name));
  std::vector<std::string> names;
  for (const Task& task : registry()) names.push_back(task.name);
  const std::string near = nearest_task(name, names);
  throw InputError(fmt::format("unknown task '{}'{}; valid: {}", name,
                               near.empty() ? "" : fmt::format(" (did you mean {}?)", near),
                               fmt::join(names, ", ")));
}

}  // namespace ovde
