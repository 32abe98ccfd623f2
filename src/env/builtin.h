// The tasks this project brings, one function per family.
#pragma once

#include <vector>

#include <ovde/env.h>

namespace ovde {

Task grid_chaos_task();

std::vector<Task> builtin_tasks();

}  // namespace ovde
