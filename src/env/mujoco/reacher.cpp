// Reacher: a two-link arm moves its fingertip to a target, which is random in each episode.
#include <array>
#include <cmath>

#include "env/mujoco/task.h"

namespace ovde {

namespace reacher {

constexpr int fingertip = 3, target = 4;  // bodies of reacher.xml
constexpr double target_radius = 0.2;     // radius of the disc of targets
constexpr double position_noise = 0.1, velocity_noise = 5e-3;

void start(std::span<double> q, std::span<double> v, Random& random) {
  add_uniform(q, position_noise, random);
  do {
    q[2] = random.uniform(-target_radius, target_radius);
    q[3] = random.uniform(-target_radius, target_radius);
  } while (std::hypot(q[2], q[3]) >= target_radius);
  add_uniform(v.first(2), velocity_noise, random);  // the target does not move
}

// The reward uses the distance before the step.
Step step(Simulation& s, std::span<const double> action) {
  const double reward = -distance(s.body(fingertip), s.body(target)) - sum_of_squares(action);
  s.advance(action);
  return {.reward = reward};
}

// cosines and sines of the joints, the target, the joints' velocities, and the vector from target
// to fingertip
void observe(const Simulation& s, std::span<double> observation) {
  const auto q = s.q();
  const auto tip = s.body(fingertip), goal = s.body(target);
  auto out = write(std::array{std::cos(q[0]), std::cos(q[1]), std::sin(q[0]), std::sin(q[1])},
                   observation.begin());
  out = write(q.subspan(2), out);
  out = write(s.v().first(2), out);
  write(std::array{tip[0] - goal[0], tip[1] - goal[1], tip[2] - goal[2]}, out);
}

}  // namespace reacher

MujocoTask reacher_task() {
  return {.name = "Reacher",
          .summary = "two-link arm, rewarded for being near a target; never ends",
          .model = "reacher",
          .frame_skip = 2,
          .observation_size = 11,
          .horizon = 50,
          .bodies = {{"fingertip", reacher::fingertip}, {"target", reacher::target}},
          .position_spread = {8, 1.9, 0.1, 0.1},
          .velocity_spread = {9.9, 6.8, 0, 0},
          .step = reacher::step,
          .start = reacher::start,
          .observe = reacher::observe,
          .observed = {{"shoulder_cos", ""},
                       {"elbow_cos", ""},
                       {"shoulder_sin", ""},
                       {"elbow_sin", ""},
                       {"target_x", "m"},
                       {"target_y", "m"},
                       {"shoulder_velocity", "rad/s"},
                       {"elbow_velocity", "rad/s"},
                       {"target_to_fingertip_x", "m"},
                       {"target_to_fingertip_y", "m"},
                       {"target_to_fingertip_z", "m"}}};
}

}  // namespace ovde
