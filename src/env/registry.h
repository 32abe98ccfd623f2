// The task registry, in addition to ovde/env.h.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <ovde/env.h>

namespace ovde {

// The task of "Name" or "Name:preset", even if it has no such preset; null if unknown.
const Task* registered_task(const std::string& id);

// Whether the task is one of this library's, not of a user's program.
bool is_built_in(const Task& task);

// The beginning of the name of an environment that Python registered (docs/python.md).
inline constexpr std::string_view kPythonTask = "python/";

// A task file is a task whose name is its path, "robot.toml" (docs/task_files.md).
inline bool is_task_file(const std::string& id) { return id.ends_with(".toml"); }
// The configuration key with the SHA-256 of the run's task file.
inline constexpr const char* kTaskDigest = "task.sha256";
// InputError if it is a model, "robot.xml", in place of a task.
void refuse_model(const std::string& id);
// Reads it at the first call; InputError with file and line if it is wrong.
const Task& find_task_file(const std::string& id);
// Reads it for a new run, again if it has changed. Tasks that were found before stay valid and as
// they are.
void refresh_task_file(const std::string& id);

// A run keeps a copy of its task file and of the model's files. `options`: the task's, in the run.
void save_task_copy(const std::string& id, const OptionValues& options,
                    const std::filesystem::path& folder);
// Registers the copy in `folder`, if there is one, as the task `id` with this SHA-256.
void use_task_copy(const std::string& id, const std::string& sha256,
                   const std::filesystem::path& folder);
// Which of its files differ from the run's copy or are missing, "arm.xml is missing"; empty: none,
// or the task file itself is not there.
std::string task_file_changes(const std::string& id, const OptionValues& options);

// The built-in tasks.
Task grid_chaos_task();
std::vector<Task> proving_ground_tasks();
std::vector<Task> mujoco_tasks();  // in builds with MuJoCo

// The version of the library in use; empty in builds without MuJoCo.
std::string mujoco_version();

}  // namespace ovde
