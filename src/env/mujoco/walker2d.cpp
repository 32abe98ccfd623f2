// Walker2d: a planar two-legged walker rewarded for speed and for staying upright.
#include <cmath>

#include "env/mujoco/task.h"

namespace ovde {

namespace {

constexpr double lowest = 0.8, highest = 2;  // healthy between these heights of the torso
constexpr double largest_pitch = 1;          // and within this angle of upright

bool healthy(const Simulation& s) {
  return s.q()[1] > lowest && s.q()[1] < highest && std::abs(s.q()[2]) < largest_pitch;
}

Step step(Simulation& s, std::span<const double> action) {
  return {.reward = walker_reward(s, action), .terminated = !healthy(s)};
}

}  // namespace

MujocoTask walker2d_task() {
  return {.name = "Walker2d",
          .summary = "planar two-legged walker, rewarded for speed; ends when it falls",
          .model = "walker2d",
          .frame_skip = 4,
          .observation_size = 17,
          .start_noise = 5e-3,
          .first_position = 1,  // without the position along x
          .velocity_limit = 10,
          .position_spread = {0.06, 0.062, 0.33, 0.31, 0.42, 0.4, 0.3, 0.43, 0.41},
          .velocity_spread = {0.55, 1, 6.9, 9.2, 6.5, 12, 9.2, 6.6, 12},
          .step = step};
}

}  // namespace ovde
