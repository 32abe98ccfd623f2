// The environment around a MuJoCo task: seeds, clipping of actions, errors that say where, saved
// state, injected noise. What is paid and seen is the task's.
#pragma once

#include <memory>

#include <ovde/env.h>
#include "env/mujoco/task.h"

namespace ovde {

std::unique_ptr<Env> make_mujoco_env(const MujocoTask& task);

}  // namespace ovde
