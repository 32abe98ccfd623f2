// The runners in the plane, rewarded for speed along x: HalfCheetah, Hopper, Swimmer and Walker2d.
#include <algorithm>
#include <cmath>

#include "env/mujoco/task.h"

namespace ovde {

namespace {

// Advances by one action. The reward is the speed, plus `healthy_reward`, minus the control cost.
double run(Simulation& s, std::span<const double> action, double healthy_reward,
           double control_cost) {
  const double before = s.q()[0];
  s.advance(action);
  const double speed = (s.q()[0] - before) / s.seconds_per_action();
  return speed + healthy_reward - control_cost * sum_of_squares(action);
}

Step half_cheetah_step(Simulation& s, std::span<const double> action) {
  return {.reward = run(s, action, 0, 0.1)};
}

Step swimmer_step(Simulation& s, std::span<const double> action) {
  return {.reward = run(s, action, 0, 1e-4)};
}

bool hopper_is_healthy(const Simulation& s) {
  constexpr double lowest = 0.7;         // healthy above this height of the torso,
  constexpr double largest_pitch = 0.2;  // within this angle of upright,
  constexpr double largest_state = 100;  // and with everything else below this size
  const auto small = [](double x) { return std::abs(x) < largest_state; };
  return s.q()[1] > lowest && std::abs(s.q()[2]) < largest_pitch &&
         std::ranges::all_of(s.q().subspan(2), small) && std::ranges::all_of(s.v(), small);
}

Step hopper_step(Simulation& s, std::span<const double> action) {
  return {.reward = run(s, action, 1, 1e-3), .terminated = !hopper_is_healthy(s)};
}

bool walker_is_healthy(const Simulation& s) {
  constexpr double lowest = 0.8, highest = 2;  // healthy between these heights of the torso
  constexpr double largest_pitch = 1;          // and within this angle of upright
  return s.q()[1] > lowest && s.q()[1] < highest && std::abs(s.q()[2]) < largest_pitch;
}

Step walker_step(Simulation& s, std::span<const double> action) {
  return {.reward = run(s, action, 1, 1e-3), .terminated = !walker_is_healthy(s)};
}

}  // namespace

// Observations are without the position along x, Swimmer's without any position.

MujocoTask half_cheetah_task() {
  return {.name = "HalfCheetah",
          .summary = "planar two-legged runner, rewarded for speed; never ends",
          .model = "half_cheetah",
          .frame_skip = 5,
          .observation_size = 17,
          .start_noise = 0.1,
          .normal_velocities = true,
          .first_position = 1,
          .position_spread = {0.75, 0.087, 0.41, 0.25, 0.28, 0.26, 0.32, 0.3, 0.28},
          .velocity_spread = {0.75, 0.78, 1.6, 5.5, 6.8, 6.9, 6.3, 6.5, 6.1},
          .step = half_cheetah_step};
}

MujocoTask hopper_task() {
  return {.name = "Hopper",
          .summary = "planar one-legged hopper, rewarded for speed; ends when it falls",
          .model = "hopper",
          .frame_skip = 4,
          .observation_size = 11,
          .start_noise = 5e-3,
          .first_position = 1,
          .velocity_limit = 10,
          .position_spread = {0.054, 0.024, 0.068, 0.065, 0.11, 0.15},
          .velocity_spread = {0.4, 0.31, 1.4, 1.5, 1.6, 1.7},
          .step = hopper_step};
}

MujocoTask swimmer_task() {
  return {.name = "Swimmer",
          .summary = "three rods in a thick fluid, rewarded for speed; never ends",
          .model = "swimmer",
          .frame_skip = 4,
          .observation_size = 8,
          .start_noise = 0.1,
          .first_position = 2,
          .position_spread = {0.18, 0.52, 0.57, 1.1, 1.1},
          .velocity_spread = {0.32, 0.81, 0.91, 1.6, 1.6},
          .step = swimmer_step};
}

MujocoTask walker2d_task() {
  return {.name = "Walker2d",
          .summary = "planar two-legged walker, rewarded for speed; ends when it falls",
          .model = "walker2d",
          .frame_skip = 4,
          .observation_size = 17,
          .start_noise = 5e-3,
          .first_position = 1,
          .velocity_limit = 10,
          .position_spread = {0.06, 0.062, 0.33, 0.31, 0.42, 0.4, 0.3, 0.43, 0.41},
          .velocity_spread = {0.55, 1, 6.9, 9.2, 6.5, 12, 9.2, 6.6, 12},
          .step = walker_step};
}

}  // namespace ovde
