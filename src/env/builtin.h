// The tasks this project brings, one function per family.
#pragma once

#include <vector>

#include <ovde/env.h>

namespace ovde {

Task grid_chaos_task();
std::vector<Task> proving_ground_tasks();
std::vector<Task> mujoco_tasks();  // only in a build with MuJoCo

}  // namespace ovde
