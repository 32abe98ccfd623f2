// HalfCheetah: a planar runner that is paid for speed and never ends.
#include "env/mujoco/task.h"

namespace ovde {

namespace {

constexpr double control_cost = 0.1;

Step step(Simulation& s, std::span<const double> action) {
  const double speed = advance_along_x(s, action);
  return {.reward = speed - control_cost * sum_of_squares(action)};
}

}  // namespace

MujocoTask half_cheetah_task() {
  return {.name = "HalfCheetah",
          .summary = "planar two-legged runner, paid for speed; never ends",
          .model = "half_cheetah",
          .frame_skip = 5,
          .observation_size = 17,
          .start_noise = 0.1,
          .normal_velocities = true,
          .first_position = 1,  // all but how far it has come
          .step = step};
}

}  // namespace ovde
