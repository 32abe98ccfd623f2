// InvertedDoublePendulum: a cart balances two poles, one on top of the other.
#include <array>
#include <cmath>

#include "env/mujoco/task.h"

namespace ovde {

namespace {

constexpr int tip = 0;         // site of inverted_double_pendulum.xml
constexpr double alive = 10;   // reward of every step, including the last
constexpr double upright = 2;  // height with no penalty (the poles reach 1.2)
constexpr double fallen = 1;   // the episode ends at this height of the tip
constexpr double limit = 10;   // limit of velocities and forces in the observation

Step step(Simulation& s, std::span<const double> action) {
  s.advance(action);
  const double x = s.site(tip)[0], height = s.site(tip)[2];
  const double place_cost = 0.01 * square(x) + square(height - upright);
  const double speed_cost = 1e-3 * square(s.v()[1]) + 5e-3 * square(s.v()[2]);
  return {.reward = alive - place_cost - speed_cost, .terminated = height <= fallen};
}

// position of the cart; sines and cosines of the poles; velocities and constraint forces, clipped
void observe(const Simulation& s, std::span<double> observation) {
  const auto q = s.q();
  auto out = write(std::array{q[0], std::sin(q[1]), std::sin(q[2]), std::cos(q[1]), std::cos(q[2])},
                   observation.begin());
  out = write_clipped(s.v(), limit, out);
  write_clipped({s.data().qfrc_constraint, s.v().size()}, limit, out);
}

}  // namespace

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
          .step = step,
          .observe = observe,
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
