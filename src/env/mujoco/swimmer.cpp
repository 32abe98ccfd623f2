// Swimmer: a chain of three rods rewarded for swimming along x.
#include "env/mujoco/task.h"

namespace ovde {

namespace {

constexpr double control_cost = 1e-4;

Step step(Simulation& s, std::span<const double> action) {
  const double speed = advance_along_x(s, action);
  return {.reward = speed - control_cost * sum_of_squares(action)};
}

}  // namespace

MujocoTask swimmer_task() {
  return {.name = "Swimmer",
          .summary = "three rods in a thick fluid, rewarded for speed; never ends",
          .model = "swimmer",
          .frame_skip = 4,
          .observation_size = 8,
          .start_noise = 0.1,
          .first_position = 2,  // without the position
          .position_spread = {0.18, 0.52, 0.57, 1.1, 1.1},
          .velocity_spread = {0.32, 0.81, 0.91, 1.6, 1.6},
          .step = step};
}

}  // namespace ovde
