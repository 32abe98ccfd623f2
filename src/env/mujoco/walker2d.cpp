// Walker2d: a planar two-legged walker that is paid for speed and for staying upright.
#include <cmath>

#include "env/mujoco/task.h"

namespace ovde {

namespace {

constexpr double control_cost = 1e-3;
constexpr double healthy_reward = 1;
constexpr double lowest = 0.8, highest = 2;  // healthy between these heights of the torso
constexpr double largest_pitch = 1;          // and within this angle of upright
constexpr double velocity_limit = 10;        // of the observation
constexpr double start_noise = 5e-3;

void start(std::span<double> q, std::span<double> v, Random& random) {
  add_uniform(q, start_noise, random);
  add_uniform(v, start_noise, random);
}

bool healthy(const Simulation& s) {
  return s.q()[1] > lowest && s.q()[1] < highest && std::abs(s.q()[2]) < largest_pitch;
}

Step step(Simulation& s, std::span<const double> action) {
  const double speed = advance_along_x(s, action);
  return {.reward = speed + healthy_reward - control_cost * sum_of_squares(action),
          .terminated = !healthy(s)};
}

// all positions but how far it has come; then all velocities, clipped
void observe(const Simulation& s, std::span<double> observation) {
  const auto out = write(s.q().subspan(1), observation.begin());
  write_clipped(s.v(), velocity_limit, out);
}

}  // namespace

MujocoTask walker2d_task() {
  return {.name = "Walker2d",
          .summary = "planar two-legged walker, paid for speed; ends when it falls",
          .model = "walker2d",
          .frame_skip = 4,
          .observation_size = 17,
          .horizon = 1000,
          .start = start,
          .step = step,
          .observe = observe};
}

}  // namespace ovde
