// HalfCheetah: a planar runner rewarded for speed along x.
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
          .summary = "planar two-legged runner, rewarded for speed; never ends",
          .model = "half_cheetah",
          .frame_skip = 5,
          .observation_size = 17,
          .start_noise = 0.1,
          .normal_velocities = true,
          .first_position = 1,  // without the position along x
          .position_spread = {0.75, 0.087, 0.41, 0.25, 0.28, 0.26, 0.32, 0.3, 0.28},
          .velocity_spread = {0.75, 0.78, 1.6, 5.5, 6.8, 6.9, 6.3, 6.5, 6.1},
          .step = step};
}

}  // namespace ovde
