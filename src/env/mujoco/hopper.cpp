// Hopper: a planar one-legged hopper that is paid for speed and for staying upright.
#include <algorithm>
#include <cmath>

#include "env/mujoco/task.h"

namespace ovde {

namespace {

constexpr double control_cost = 1e-3;
constexpr double healthy_reward = 1;
constexpr double lowest = 0.7;         // healthy above this height of the torso,
constexpr double largest_pitch = 0.2;  // within this angle of upright,
constexpr double largest_state = 100;  // and with everything else below this size
constexpr double velocity_limit = 10;  // of the observation
constexpr double start_noise = 5e-3;

void start(std::span<double> q, std::span<double> v, Random& random) {
  add_uniform(q, start_noise, random);
  add_uniform(v, start_noise, random);
}

bool healthy(const Simulation& s) {
  const auto small = [](double x) { return std::abs(x) < largest_state; };
  return s.q()[1] > lowest && std::abs(s.q()[2]) < largest_pitch &&
         std::ranges::all_of(s.q().subspan(2), small) && std::ranges::all_of(s.v(), small);
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

MujocoTask hopper_task() {
  return {.name = "Hopper",
          .summary = "planar one-legged hopper, paid for speed; ends when it falls",
          .model = "hopper",
          .frame_skip = 4,
          .observation_size = 11,
          .horizon = 1000,
          .start = start,
          .step = step,
          .observe = observe};
}

}  // namespace ovde
