// HalfCheetah: a planar runner that is paid for speed and never ends.
#include "env/mujoco/task.h"

namespace ovde {

namespace {

constexpr double control_cost = 0.1;
constexpr double start_noise = 0.1;

void start(std::span<double> q, std::span<double> v, Random& random) {
  add_uniform(q, start_noise, random);
  add_normal(v, start_noise, random);
}

Step step(Simulation& s, std::span<const double> action) {
  const double speed = advance_along_x(s, action);
  return {.reward = speed - control_cost * sum_of_squares(action)};
}

// all positions but how far it has come; then all velocities
void observe(const Simulation& s, std::span<double> observation) {
  const auto out = write(s.q().subspan(1), observation.begin());
  write(s.v(), out);
}

}  // namespace

MujocoTask half_cheetah_task() {
  return {.name = "HalfCheetah",
          .summary = "planar two-legged runner, paid for speed; never ends",
          .model = "half_cheetah",
          .frame_skip = 5,
          .observation_size = 17,
          .horizon = 1000,
          .start = start,
          .step = step,
          .observe = observe};
}

}  // namespace ovde
