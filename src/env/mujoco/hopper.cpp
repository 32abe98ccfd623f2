// Hopper: a planar one-legged hopper rewarded for speed and for staying upright.
#include <algorithm>
#include <cmath>

#include "env/mujoco/task.h"

namespace ovde {

namespace {

constexpr double lowest = 0.7;         // healthy above this height of the torso,
constexpr double largest_pitch = 0.2;  // within this angle of upright,
constexpr double largest_state = 100;  // and with everything else below this size

bool healthy(const Simulation& s) {
  const auto small = [](double x) { return std::abs(x) < largest_state; };
  return s.q()[1] > lowest && std::abs(s.q()[2]) < largest_pitch &&
         std::ranges::all_of(s.q().subspan(2), small) && std::ranges::all_of(s.v(), small);
}

Step step(Simulation& s, std::span<const double> action) {
  return {.reward = walker_reward(s, action), .terminated = !healthy(s)};
}

}  // namespace

MujocoTask hopper_task() {
  return {.name = "Hopper",
          .summary = "planar one-legged hopper, rewarded for speed; ends when it falls",
          .model = "hopper",
          .frame_skip = 4,
          .observation_size = 11,
          .start_noise = 5e-3,
          .first_position = 1,  // without the position along x
          .velocity_limit = 10,
          .position_spread = {0.054, 0.024, 0.068, 0.065, 0.11, 0.15},
          .velocity_spread = {0.4, 0.31, 1.4, 1.5, 1.6, 1.7},
          .step = step};
}

}  // namespace ovde
