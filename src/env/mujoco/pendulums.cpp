// A cart balances a pole (InvertedPendulum), or two, one on top of the other
// (InvertedDoublePendulum). Every step is rewarded, including the last.
#include <array>
#include <cmath>

#include "env/mujoco/task.h"

namespace ovde {

namespace {

Step single_step(Simulation& s, std::span<const double> action) {
  constexpr double fallen = 0.2;  // the episode ends beyond this angle of the pole
  s.advance(action);
  const double angle = s.q()[1];
  return {.reward = 1, .terminated = !std::isfinite(angle) || std::abs(angle) > fallen};
}

constexpr int tip = 0;  // site of inverted_double_pendulum.xml

Step double_step(Simulation& s, std::span<const double> action) {
  constexpr double alive = 10;   // reward of every step
  constexpr double upright = 2;  // height with no penalty (the poles reach 1.2)
  constexpr double fallen = 1;   // the episode ends at this height of the tip
  s.advance(action);
  const double x = s.site(tip)[0], height = s.site(tip)[2];
  const double place_cost = 0.01 * square(x) + square(height - upright);
  const double speed_cost = 1e-3 * square(s.v()[1]) + 5e-3 * square(s.v()[2]);
  return {.reward = alive - place_cost - speed_cost, .terminated = height <= fallen};
}

// position of the cart; sines and cosines of the poles; velocities and constraint forces, clipped
void observe_double(const Simulation& s, std::span<double> observation) {
  constexpr double limit = 10;
  const auto q = s.q();
  auto out = write(std::array{q[0], std::sin(q[1]), std::sin(q[2]), std::cos(q[1]), std::cos(q[2])},
                   observation.begin());
  out = write_clipped(s.v(), limit, out);
  write_clipped({s.data().qfrc_constraint, s.v().size()}, limit, out);
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
          .step = single_step};
}

MujocoTask inverted_double_pendulum_task() {
  return {.name = "InvertedDoublePendulum",
          .summary = "cart that balances two poles, one on the other; ends when they fall",
          .model = "inverted_double_pendulum",
          .frame_skip = 5,
          .observation_size = 11,
          .sites = {{"tip", tip}},
          .start_noise = 0.1,
          .normal_velocities = true,
          .position_spread = {0.22, 0.44, 0.56},
          .velocity_spread = {1.8, 3.6, 4},
          .step = double_step,
          .observe = observe_double,
          .observed = {{"cart", "m"},
                       {"lower_pole_sin", ""},
                       {"upper_pole_sin", ""},
                       {"lower_pole_cos", ""},
                       {"upper_pole_cos", ""},
                       {"cart_velocity", "m/s"},
                       {"lower_pole_velocity", "rad/s"},
                       {"upper_pole_velocity", "rad/s"},
                       {"cart_constraint_force", "N"},
                       {"lower_pole_constraint_torque", "N m"},
                       {"upper_pole_constraint_torque", "N m"}}};
}

}  // namespace ovde
