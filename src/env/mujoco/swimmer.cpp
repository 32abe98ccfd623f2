// Swimmer: three rods in a chain that are paid for swimming along x.
#include "env/mujoco/task.h"

namespace ovde {

namespace {

constexpr double control_cost = 1e-4;
constexpr double start_noise = 0.1;

void start(std::span<double> q, std::span<double> v, Random& random) {
  add_uniform(q, start_noise, random);
  add_uniform(v, start_noise, random);
}

Step step(Simulation& s, std::span<const double> action) {
  const double speed = advance_along_x(s, action);
  return {.reward = speed - control_cost * sum_of_squares(action)};
}

// all angles; then all velocities
void observe(const Simulation& s, std::span<double> observation) {
  const auto out = write(s.q().subspan(2), observation.begin());
  write(s.v(), out);
}

}  // namespace

MujocoTask swimmer_task() {
  return {.name = "Swimmer",
          .summary = "three rods in a thick fluid, paid for speed; never ends",
          .model = "swimmer",
          .frame_skip = 4,
          .observation_size = 8,
          .horizon = 1000,
          .start = start,
          .step = step,
          .observe = observe};
}

}  // namespace ovde
