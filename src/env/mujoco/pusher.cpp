// Pusher: a seven-joint arm pushes a puck to a goal.
#include <algorithm>
#include <cmath>

#include "env/mujoco/task.h"

namespace ovde {

namespace pusher {

constexpr int tips = 10, puck = 11, goal = 12;  // bodies of pusher.xml
constexpr int arm = 7;                          // number of joints
constexpr double control_cost = 0.1, reach_cost = 0.5;
constexpr double nearest = 0.17;  // the puck starts at least this far from the goal
constexpr double velocity_noise = 5e-3;

void start(std::span<double> q, std::span<double> v, Random& random) {
  std::ranges::fill(q, 0.0);
  do {
    q[arm] = random.uniform(-0.3, 0);        // along the puck's first axis, which is y
    q[arm + 1] = random.uniform(-0.2, 0.2);  // and along x
  } while (std::hypot(q[arm], q[arm + 1]) <= nearest);
  add_uniform(v.first(arm), velocity_noise, random);
}

// The reward uses the distances before the step.
Step step(Simulation& s, std::span<const double> action) {
  const double to_goal = distance(s.body(puck), s.body(goal));
  const double to_puck = distance(s.body(puck), s.body(tips));
  s.advance(action);
  return {.reward = -to_goal - control_cost * sum_of_squares(action) - reach_cost * to_puck};
}

// the arm's angles and velocities; positions of its tips, the puck and the goal
void observe(const Simulation& s, std::span<double> observation) {
  auto out = write(s.q().first(arm), observation.begin());
  out = write(s.v().first(arm), out);
  for (const int body : {tips, puck, goal}) out = write(s.body(body), out);
}

std::vector<Signal> observed() {
  const char* const joints[arm] = {"shoulder_pan", "shoulder_lift", "upper_arm_roll", "elbow",
                                   "forearm_roll", "wrist",         "wrist_roll"};
  std::vector<Signal> all;
  for (const std::string joint : joints) all.push_back({joint, "rad"});
  for (const std::string joint : joints) all.push_back({joint + "_velocity", "rad/s"});
  for (const std::string body : {"tips", "puck", "goal"}) {
    for (const std::string axis : {"_x", "_y", "_z"}) all.push_back({body + axis, "m"});
  }
  return all;
}

}  // namespace pusher

MujocoTask pusher_task() {
  return {.name = "Pusher",
          .summary = "seven-joint arm that pushes a puck to a goal; never ends",
          .model = "pusher",
          .frame_skip = 5,
          .observation_size = 23,
          .horizon = 100,
          .bodies = {{"tips", pusher::tips}, {"puck", pusher::puck}, {"goal", pusher::goal}},
          .position_spread = {0.32, 0.28, 1, 0.79, 0.96, 0.39, 0.96, 0.069, 0.13, 0, 0},
          .velocity_spread = {0.26, 0.33, 1.8, 1.5, 2.3, 1.9, 2.4, 0.015, 0.012, 0, 0},
          .step = pusher::step,
          .start = pusher::start,
          .observe = pusher::observe,
          .observed = pusher::observed()};
}

}  // namespace ovde
