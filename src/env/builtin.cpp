#include "env/builtin.h"

#include "env/engine_loop.h"

namespace ovde {

std::vector<Task> builtin_tasks() {
  std::vector<Task> all;
  all.push_back(grid_chaos_task());
#ifdef OVDE_MUJOCO
  for (Task& task : mujoco_tasks()) all.push_back(std::move(task));
#endif
  return all;
}

#ifndef OVDE_MUJOCO
std::unique_ptr<EngineLoop> make_engine_loop(const std::string&) { return nullptr; }
#endif

}  // namespace ovde
