// Humanoid: a biped with arms, rewarded for speed along x and for staying upright.
#include <fmt/format.h>

#include "env/mujoco/task.h"

namespace ovde {

namespace {

constexpr double speed_reward = 1.25, healthy_reward = 5, control_cost = 0.1;
constexpr double lowest = 1, highest = 2;  // healthy heights of the torso
constexpr int bodies = 14;                 // including the world

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
  out = write({d.qfrc_actuator, s.v().size()}, out);
  write({d.cfrc_ext, 6 * bodies}, out);
}

std::vector<Signal> observed() {
  const std::vector<std::string> joints = {
      "abdomen_z",      "abdomen_y",       "abdomen_x",       "right_hip_x", "right_hip_z",
      "right_hip_y",    "right_knee",      "left_hip_x",      "left_hip_z",  "left_hip_y",
      "left_knee",      "right_shoulder1", "right_shoulder2", "right_elbow", "left_shoulder1",
      "left_shoulder2", "left_elbow"};
  const char* const names[bodies] = {
      "world",           "torso",           "lower_waist",    "pelvis",        "right_thigh",
      "right_shin",      "right_foot",      "left_thigh",     "left_shin",     "left_foot",
      "right_upper_arm", "right_lower_arm", "left_upper_arm", "left_lower_arm"};
  std::vector<Signal> all = {
      {"torso_z", "m"}, {"torso_qw", ""}, {"torso_qx", ""}, {"torso_qy", ""}, {"torso_qz", ""}};
  for (const std::string& joint : joints) all.push_back({joint, "rad"});
  for (const char* axis : {"_x", "_y", "_z"})
    all.push_back({std::string("torso") + axis + "_velocity", "m/s"});
  for (const char* axis : {"_x", "_y", "_z"})
    all.push_back({std::string("torso") + axis + "_angular_velocity", "rad/s"});
  for (const std::string& joint : joints) all.push_back({joint + "_velocity", "rad/s"});
  const auto add = [&](const char* quantity, int count) {
    for (const char* body : names)
      for (int i = 0; i < count; ++i)
        all.push_back({fmt::format("{}_{}_{}", body, quantity, i), ""});
  };
  add("inertia", 10);
  add("spatial_velocity", 6);
  for (const char* axis : {"_x", "_y", "_z"})
    all.push_back({std::string("torso") + axis + "_force", "N"});
  for (const char* axis : {"_x", "_y", "_z"})
    all.push_back({std::string("torso") + axis + "_torque", "N m"});
  for (const std::string& joint : joints) all.push_back({joint + "_torque", "N m"});
  add("contact_force", 6);
  return all;
}

}  // namespace

MujocoTask humanoid_task() {
  return {
      .name = "Humanoid",
      .summary = "biped with arms, rewarded for speed; ends when it falls",
      .model = "humanoid",
      .frame_skip = 5,
      .observation_size = 376,
      .reads_forces = true,
      .start_noise = 0.01,
      .position_spread = {0.038, 0.039, 0.12, 0.15, 0.24, 0.17, 0.15, 0.26, 0.21, 0.096, 0.19, 0.33,
                          0.7,   0.097, 0.19, 0.32, 0.67, 0.28, 0.26, 0.32, 0.28, 0.25,  0.31},
      .velocity_spread = {0.28, 0.22, 0.73, 0.94, 2.1, 1.8, 2.9, 4.5, 2.5, 2.3, 3.7, 6,
                          7.4,  2.3,  3.7,  5.9,  7.2, 2.3, 2.7, 2.7, 2.3, 2.7, 2.7},
      .step = step,
      .observe = observe,
      .observed = observed()};
}

}  // namespace ovde
