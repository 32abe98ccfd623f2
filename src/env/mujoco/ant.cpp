// Ant: a four-legged walker rewarded for speed along x.
#include <algorithm>
#include <cmath>

#include "env/mujoco/task.h"

namespace ovde {

namespace ant {

constexpr int torso = 1;  // body of ant.xml
constexpr double control_cost = 0.5;
constexpr double healthy_reward = 1;
constexpr double lowest = 0.2, highest = 1;  // healthy heights of the torso

bool healthy(const Simulation& s) {
  const auto finite = [](double x) { return std::isfinite(x); };
  return std::ranges::all_of(s.q(), finite) && std::ranges::all_of(s.v(), finite) &&
         s.q()[2] >= lowest && s.q()[2] <= highest;
}

Step step(Simulation& s, std::span<const double> action) {
  const double before = s.body(torso)[0];
  s.advance(action);
  const double speed = (s.body(torso)[0] - before) / s.seconds_per_action();
  return {.reward = speed - control_cost * sum_of_squares(action) + healthy_reward,
          .terminated = !healthy(s)};
}

}  // namespace ant

MujocoTask ant_task() {
  return {
      .name = "Ant",
      .summary = "four-legged walker, rewarded for speed; ends when it falls",
      .model = "ant",
      .frame_skip = 5,
      .observation_size = 27,
      .bodies = {{"torso", ant::torso}},
      .start_noise = 0.1,
      .normal_velocities = true,
      .first_position = 2,  // height, orientation, joint angles
      .position_spread = {0.84, 0.91, 0.14, 0.52, 0.46, 1, 0.4, 0.3, 0.4, 0.3, 0.41, 0.3, 0.4, 0.3},
      .velocity_spread = {0.79, 0.81, 0.93, 1.7, 1.7, 1.8, 4.6, 4.3, 4.5, 4.3, 4.6, 4.3, 4.6, 4.3},
      .step = ant::step};
}

}  // namespace ovde
