// The task registry, in addition to ovde/env.h.
#pragma once

#include <string>
#include <vector>

#include <ovde/env.h>

namespace ovde {

// The task of "Name" or "Name:preset", even if it has no such preset; null if unknown.
const Task* registered_task(const std::string& id);

// Whether the task is one of this library's, not of a user's program.
bool is_built_in(const Task& task);

// The built-in tasks.
Task grid_chaos_task();
std::vector<Task> proving_ground_tasks();
std::vector<Task> mujoco_tasks();  // in builds with MuJoCo

// The version of the library in use; empty in builds without MuJoCo.
std::string mujoco_version();

}  // namespace ovde
