// The tasks this project brings, one function per family.
#pragma once

#include <vector>

#include <ovde/env.h>

namespace ovde {

Task grid_chaos_task();
std::vector<Task> mujoco_tasks();  // the standard ones, then the noisy; only in a build with MuJoCo

}  // namespace ovde
