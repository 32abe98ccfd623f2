// Humanoid: a biped with arms, rewarded for speed along x and for staying upright.
#include <fmt/format.h>

#include "env/mujoco/task.h"

namespace ovde {

namespace humanoid {

constexpr double speed_reward = 1.25, healthy_reward = 5, control_cost = 0.1;
constexpr double lowest = 1, highest = 2;  // healthy heights of the torso
constexpr int bodies = 14;                 // including the world
constexpr int velocities = 23;

double centre_of_mass_x(const Simulation& s) {
  double mass = 0, moment = 0;
  for (int body = 0; body < bodies; ++body) {
    mass += s.model().body_mass[body];
    moment += s.model().body_mass[body] * s.data().xipos[3 * body];
  }
  return moment / mass;
}

Step step(Simulation& s, std::span<const double> action) {
  const double before = centre_of_mass_x(s);
  s.advance(action);
  const double speed = (centre_of_mass_x(s) - before) / s.seconds_per_action();
  return {.reward = speed_reward * speed + healthy_reward - control_cost * sum_of_squares(action),
          .terminated = !(s.q()[2] > lowest && s.q()[2] < highest)};
}

// positions without x and y, velocities; inertias and velocities of all bodies, motor forces,
// contact forces on all bodies
void observe(const Simulation& s, std::span<double> observation) {
  const mjData& d = s.data();
  auto out = write(s.q().subspan(2), observation.begin());
  out = write(s.v(), out);
  out = write({d.cinert, 10 * bodies}, out);
  out = write({d.cvel, 6 * bodies}, out);
  out = write({d.qfrc_actuator, velocities}, out);
  write({d.cfrc_ext, 6 * bodies}, out);
}

// MuJoCo's arrays after positions and velocities, element by element.
std::vector<Signal> observed() {
  std::vector<Signal> all;
  const auto add = [&](const char* array, int size) {
    for (int i = 0; i < size; ++i) all.push_back({fmt::format("{}_{}", array, i), ""});
  };
  add("cinert", 10 * bodies);
  add("cvel", 6 * bodies);
  add("qfrc_actuator", velocities);
  add("cfrc_ext", 6 * bodies);
  return all;
}

}  // namespace humanoid

MujocoTask humanoid_task() {
  return {
      .name = "Humanoid",
      .summary = "biped with arms, rewarded for speed; ends when it falls",
      .model = "humanoid",
      .frame_skip = 5,
      .observation_size = 376,
      .reads_forces = true,
      .start_noise = 0.01,
      .first_position = 2,
      .position_spread = {0.038, 0.039, 0.12, 0.15, 0.24, 0.17, 0.15, 0.26, 0.21, 0.096, 0.19, 0.33,
                          0.7,   0.097, 0.19, 0.32, 0.67, 0.28, 0.26, 0.32, 0.28, 0.25,  0.31},
      .velocity_spread = {0.28, 0.22, 0.73, 0.94, 2.1, 1.8, 2.9, 4.5, 2.5, 2.3, 3.7, 6,
                          7.4,  2.3,  3.7,  5.9,  7.2, 2.3, 2.7, 2.7, 2.3, 2.7, 2.7},
      .step = humanoid::step,
      .observe = humanoid::observe,
      .observed = humanoid::observed()};
}

}  // namespace ovde
