// A MuJoCo task: its model, constants and step function. Tasks that differ in little are in one
// file; env.cpp holds everything that all share.
#pragma once

#include <algorithm>
#include <functional>
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

// How episodes of a task begin, advance and are observed. Each environment has its own.
class MujocoRules {
 public:
  virtual ~MujocoRules() = default;

  // On entry q is qpos0 and v is 0.
  virtual void start(std::span<double> q, std::span<double> v, Random& random) = 0;
  // Advances the simulation by one action, which is inside the action space.
  virtual Step step(Simulation& simulation, std::span<const double> action) = 0;
  virtual void observe(const Simulation& simulation, std::span<double> observation) = 0;

  // The controls of an action; all actuators without one are left alone.
  virtual void control(std::span<const double> action, std::span<double> controls) const {
    std::ranges::copy(action, controls.begin());
  }

  // State besides that of the simulation.
  virtual void archive(Archive& /*archive*/, const Simulation& /*simulation*/) {}

  // The name of the condition that ended the episode in the last step.
  virtual std::string ended_by() const { return ""; }

  // The terms of the last step's reward.
  virtual std::span<const RewardTerm> reward_terms() const { return {}; }
};

struct MujocoTask {
  std::string name;     // without version: "Ant"
  std::string summary;  // one line for `ovde list tasks`
  std::string model;    // embedded MJCF file
  int frame_skip = 1;   // steps of the engine per action
  int observation_size = 0;
  bool reads_forces = false;  // the observation has contact forces and inertias
  int horizon = 1000;

  // Names and numbers of the bodies and sites that the task reads; checked against the model.
  std::vector<std::pair<std::string, int>> bodies = {};
  std::vector<std::pair<std::string, int>> sites = {};

  // An episode starts at qpos0 and velocity 0, both with uniform noise of this half-width; with
  // normal_velocities, velocities have normal noise of this standard deviation instead.
  double start_noise = 0;
  bool normal_velocities = false;
  // An observation is the positions from this index on, then all velocities, clipped.
  int first_position = 0;
  double velocity_limit = std::numeric_limits<double>::infinity();

  // Standard deviations of the state's coordinates (positions in their tangent space, from qpos0)
  // over episodes of at most 100 random actions: the units of noise.relative. They are constants,
  // so that noise is the same on all machines; MujocoNoise.SpreadsAreThoseOfRandomActions measures
  // them.
  std::vector<double> position_spread = {}, velocity_spread = {};

  // Advances the simulation by one action, which is inside the action space.
  Step (*step)(Simulation& simulation, std::span<const double> action) = nullptr;
  // Replace the constants above, unless null. On entry of `start`, q is qpos0 and v is 0.
  void (*start)(std::span<double> q, std::span<double> v, Random& random) = nullptr;
  void (*observe)(const Simulation& simulation, std::span<double> observation) = nullptr;
  // Names and units of the observation that `observe` writes; with first_position, those that
  // follow the positions and velocities.
  std::vector<Signal> observed = {};

  // Task files: the model, the actions and the rules. They replace `model`, the actuators' ranges
  // and units, and all functions above.
  std::shared_ptr<const mjModel> loaded_model = {};
  std::optional<Box> actions = {};
  std::vector<Signal> controls = {};
  bool reads_sensors = false;  // sensors or velocities of bodies
  std::function<std::unique_ptr<MujocoRules>()> rules = {};

  std::string id() const { return rules ? name : name + "-v4"; }
  Simulation make_simulation() const;
  std::unique_ptr<MujocoRules> make_rules() const;
};

// Names and units of `size` numbers: one number ("<name>"), a vector of three ("<name>_x", ...), a
// quaternion ("<name>_qw", ...) or another list ("<name>_0", ...). `end` follows each name.
std::vector<Signal> parts(const std::string& name, int size, const std::string& unit,
                          const std::string& end = "");

// Names and units of all positions and velocities: "<joint>" and "<joint>_velocity"; for a free
// joint "<joint>_x", "_qw" and so on.
struct StateSignals {
  std::vector<Signal> positions, velocities;
};
StateSignals state_signals(const mjModel& model);
// The object's name; its kind and number where the model gives none.
std::string name_of(const mjModel& model, int type, const char* kind, int number);

// Names and units of the actuators' controls: the force or torque of a control of 1, or the
// position or velocity that a servo is given.
std::vector<Signal> control_signals(const mjModel& model);

MujocoTask ant_task();
MujocoTask half_cheetah_task();
MujocoTask hopper_task();
MujocoTask humanoid_task();
MujocoTask inverted_double_pendulum_task();
MujocoTask inverted_pendulum_task();
MujocoTask pusher_task();
MujocoTask reacher_task();
MujocoTask swimmer_task();
MujocoTask walker2d_task();

std::unique_ptr<Env> make_mujoco_env(const MujocoTask& task);

// The task of "Ant-v4", "NoisyAnt-v4" or "robot.toml".
std::optional<MujocoTask> find_mujoco_task(const std::string& id);
std::optional<MujocoTask> mujoco_task_of_file(const Task& task);

// Functions that several tasks use.
inline double square(double x) { return x * x; }
double sum_of_squares(std::span<const double> values);
double distance(std::span<const double, 3> a, std::span<const double, 3> b);
void add_uniform(std::span<double> values, double half_width, Random& random);
void add_normal(std::span<double> values, double deviation, Random& random);

// Write a part of an observation at `out` and return its end.
using Out = std::span<double>::iterator;
Out write(std::span<const double> values, Out out);
Out write_clipped(std::span<const double> values, double limit, Out out);

}  // namespace ovde
