// InvertedPendulum: a pole to be kept upright by moving the cart under it.
#include <cmath>

#include "env/mujoco/task.h"

namespace ovde {

namespace {

constexpr double fallen = 0.2;  // ends beyond this angle of the pole
constexpr double start_noise = 0.01;

void start(std::span<double> q, std::span<double> v, Random& random) {
  add_uniform(q, start_noise, random);
  add_uniform(v, start_noise, random);
}

// Paid for every step, the last included.
Step step(Simulation& s, std::span<const double> action) {
  s.advance(action);
  const double angle = s.q()[1];
  return {.reward = 1, .terminated = !std::isfinite(angle) || std::abs(angle) > fallen};
}

// cart and pole; then their velocities
void observe(const Simulation& s, std::span<double> observation) {
  const auto out = write(s.q(), observation.begin());
  write(s.v(), out);
}

}  // namespace

MujocoTask inverted_pendulum_task() {
  return {.name = "InvertedPendulum",
          .summary = "cart that balances a pole; ends when it falls",
          .model = "inverted_pendulum",
          .frame_skip = 2,
          .observation_size = 4,
          .horizon = 1000,
          .start = start,
          .step = step,
          .observe = observe};
}

}  // namespace ovde
