// What turns a model into a task: a few constants and what a step is worth. Each task is one file
// that fills this in; everything that is the same for all of them is in env.cpp.
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ovde/env.h>
#include <ovde/random.h>
#include "env/mujoco/simulation.h"

namespace ovde {

struct MujocoTask {
  std::string name;     // without version: "Ant"
  std::string summary;  // one line for `ovde list tasks`
  std::string model;    // embedded MJCF file
  int frame_skip = 1;   // steps of the engine per action
  int observation_size = 0;
  int horizon = 1000;

  // Bodies and sites the task reads, with the numbers it knows them by; checked against the model.
  std::vector<std::pair<std::string, int>> bodies = {};
  std::vector<std::pair<std::string, int>> sites = {};

  // An episode starts from qpos0 and rest, both with uniform noise of this half-width; normal noise
  // of this deviation on the velocities where so said.
  double start_noise = 0;
  bool normal_velocities = false;
  // An observation has the positions from this one on, then all velocities, clipped.
  int first_position = 0;
  double velocity_limit = std::numeric_limits<double>::infinity();

  // Standard deviations of the state's coordinates (positions in their tangent space, from qpos0)
  // over episodes of at most 100 random actions: the units of relative noise (noise.relative).
  // Constants, so that noise is the same on all machines; the test
  // MujocoNoise.SpreadsAreThoseOfRandomActions measures them and prints what it measured.
  std::vector<double> position_spread = {}, velocity_spread = {};

  // Advances the simulation by one action, which is inside the task's box.
  Step (*step)(Simulation& simulation, std::span<const double> action) = nullptr;
  // Null: as the constants above say. Positions hold qpos0 and velocities zero before a start.
  void (*start)(std::span<double> q, std::span<double> v, Random& random) = nullptr;
  void (*observe)(const Simulation& simulation, std::span<double> observation) = nullptr;
  // What `observe` writes, number by number.
  std::vector<Signal> observed = {};

  void draw_start(std::span<double> q, std::span<double> v, Random& random) const;
  void write_observation(const Simulation& simulation, std::span<double> observation) const;
};

MujocoTask ant_task();
MujocoTask half_cheetah_task();
MujocoTask hopper_task();
MujocoTask inverted_double_pendulum_task();
MujocoTask inverted_pendulum_task();
MujocoTask pusher_task();
MujocoTask reacher_task();
MujocoTask swimmer_task();
MujocoTask walker2d_task();

// The environment around a task: seeds, clipping of actions, errors that say where, saved state,
// injected noise. What is paid and seen is the task's.
std::unique_ptr<Env> make_mujoco_env(const MujocoTask& task);

std::optional<MujocoTask> find_mujoco_task(const std::string& id);  // "Ant-v4", "NoisyAnt-v4"

// Pieces that several tasks are made of.
inline double square(double x) { return x * x; }
double sum_of_squares(std::span<const double> values);
double distance(std::span<const double, 3> a, std::span<const double, 3> b);
// Advances by one action; how fast the first coordinate grew.
double advance_along_x(Simulation& simulation, std::span<const double> action);
// Of a planar walker: that speed, and 1 for being upright before the episode ends.
double walker_reward(Simulation& simulation, std::span<const double> action);
void add_uniform(std::span<double> values, double half_width, Random& random);
void add_normal(std::span<double> values, double deviation, Random& random);

// Parts of an observation: each writes at `out` and returns where the next part begins.
using Out = std::span<double>::iterator;
Out write(std::span<const double> values, Out out);
Out write_clipped(std::span<const double> values, double limit, Out out);

}  // namespace ovde
