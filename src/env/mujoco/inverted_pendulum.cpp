// InvertedPendulum: a cart balances a pole.
#include <cmath>

#include "env/mujoco/task.h"

namespace ovde {

namespace {

constexpr double fallen = 0.2;  // the episode ends beyond this angle of the pole

// Every step is rewarded, including the last.
Step step(Simulation& s, std::span<const double> action) {
  s.advance(action);
  const double angle = s.q()[1];
  return {.reward = 1, .terminated = !std::isfinite(angle) || std::abs(angle) > fallen};
}

}  // namespace

MujocoTask inverted_pendulum_task() {
  return {.name = "InvertedPendulum",
          .summary = "cart that balances a pole; ends when it falls",
          .model = "inverted_pendulum",
          .frame_skip = 2,
          .observation_size = 4,
          .start_noise = 0.01,
          .position_spread = {0.06, 0.13},
          .velocity_spread = {0.81, 1.8},
          .step = step};
}

}  // namespace ovde
