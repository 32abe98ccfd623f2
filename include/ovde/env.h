// The environment interface and the registry of tasks. A user adds a task by implementing Env and
// registering it; no other file changes. Knows nothing of agents.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ovde/bytes.h>
#include <ovde/option.h>
#include <ovde/random.h>

namespace ovde {

// A box of real vectors.
struct Box {
  std::vector<double> low, high;
  int size() const { return static_cast<int>(low.size()); }
};

Box box(int size, double low, double high);

// What a step returns besides the observation.
struct Step {
  double reward = 0;
  bool terminated = false;  // the task's own end: no future return
  bool truncated = false;   // cut off (time limit): the future would have gone on
  bool success = false;     // the task's goal was reached in this step, for tasks that have one
};

// A coordinate of the state that injected noise can push.
struct Disturbable {
  bool velocity = false;  // else a position
  double spread = 0;      // its standard deviation under random actions
};

// Where a solid is: its centre, and how it is turned, as a unit quaternion (w, x, y, z).
struct Pose {
  std::array<double, 3> position = {};
  std::array<double, 4> orientation = {1, 0, 0, 0};
};

// A solid that a picture of the task shows, z upwards. The size is half of its extent along its own
// axes; of a sphere its radius; of a capsule and a cylinder, which lie along z, radius and half of
// the length; of a plane, whose normal is z, half of its sides (0: without end).
struct Solid {
  enum class Kind { plane, sphere, capsule, ellipsoid, cylinder, box };
  Kind kind = Kind::sphere;
  std::array<double, 3> size = {};
  std::array<double, 4> colour = {0.5, 0.5, 0.5, 1};  // red, green, blue, opacity, from 0 to 1
  std::optional<Pose> fixed = {};                     // where it always is; nullopt: it moves
};

// One number of an observation or an action, for whoever connects a policy to a machine.
struct Signal {
  std::string name;
  std::string unit;  // what 1 stands for: "m/s", "120 N m"; empty: a number without unit
};

// What a controller needs to know beside the sizes.
struct Signals {
  std::vector<Signal> observation, action;  // each of the environment's size, or empty: unnamed
  double rate = 0;                          // actions a second; 0: the task has no time of its own
};

class Env {
 public:
  virtual ~Env() = default;

  virtual int observation_size() const = 0;
  virtual const Box& action_space() const = 0;

  // Starts an episode. All randomness of the episode follows from `seed`. Writes the observation.
  virtual void reset(std::uint64_t seed, std::span<double> observation) = 0;
  virtual Step step(std::span<const double> action, std::span<double> observation) = 0;

  // For injected noise (noise.*). disturb() adds scale * N(0, 1) to every coordinate of the state
  // and brings the observation up to date; false: this environment has no such state. coordinate()
  // is the value of a named state coordinate ("x", "torso_z"), by which noise may depend on the
  // state; nullopt: no such name. coordinates() are the names, for whoever misspelt one.
  virtual bool disturb(double /*scale*/, Random& /*random*/, std::span<double> /*observation*/) {
    return false;
  }
  // The same with a scale for each coordinate, those that disturbables() lists, in their order;
  // none: the environment knows only disturb().
  virtual std::vector<Disturbable> disturbables() const { return {}; }
  virtual bool disturb_each(std::span<const double> /*scales*/, Random& /*random*/,
                            std::span<double> /*observation*/) {
    return false;
  }
  virtual std::optional<double> coordinate(const std::string& /*name*/) const {
    return std::nullopt;
  }
  virtual std::vector<std::string> coordinates() const { return {}; }

  // Names and units of observation and action, and how often an action is due.
  virtual Signals signals() const { return {}; }

  // Starts an episode from a recorded state instead of a drawn one (`ovde replay`); false: this
  // environment is not a mechanical system with positions and velocities.
  virtual bool set_state(std::span<const double> /*position*/, std::span<const double> /*velocity*/,
                         std::span<double> /*observation*/) {
    return false;
  }

  // State in the middle of an episode, exact to the bit; nullopt / false: this environment cannot,
  // and a resumed run starts a new episode and says so.
  virtual std::optional<Bytes> save() const { return std::nullopt; }
  virtual bool restore(std::span<const std::byte>) { return false; }

  // What a picture of the task shows (`ovde eval --record`): its solids, and where those that move
  // are now, in their order. None: there is nothing to see. Neither changes the state.
  virtual std::vector<Solid> solids() const { return {}; }
  virtual std::vector<Pose> poses() const { return {}; }
};

// An environment around another one, like Gymnasium's wrappers: hands every call on. Derive from it
// and override what is to be different; whoever keeps a state of its own overrides save() and
// restore() too.
class EnvWrapper : public Env {
 public:
  explicit EnvWrapper(std::unique_ptr<Env> inner) : inner_(std::move(inner)) {}

  int observation_size() const override { return inner_->observation_size(); }
  const Box& action_space() const override { return inner_->action_space(); }
  void reset(std::uint64_t seed, std::span<double> observation) override {
    inner_->reset(seed, observation);
  }
  Step step(std::span<const double> action, std::span<double> observation) override {
    return inner_->step(action, observation);
  }
  bool disturb(double scale, Random& random, std::span<double> observation) override {
    return inner_->disturb(scale, random, observation);
  }
  std::vector<Disturbable> disturbables() const override { return inner_->disturbables(); }
  bool disturb_each(std::span<const double> scales, Random& random,
                    std::span<double> observation) override {
    return inner_->disturb_each(scales, random, observation);
  }
  std::optional<double> coordinate(const std::string& name) const override {
    return inner_->coordinate(name);
  }
  std::vector<std::string> coordinates() const override { return inner_->coordinates(); }
  Signals signals() const override { return inner_->signals(); }
  bool set_state(std::span<const double> position, std::span<const double> velocity,
                 std::span<double> observation) override {
    return inner_->set_state(position, velocity, observation);
  }
  std::optional<Bytes> save() const override { return inner_->save(); }
  bool restore(std::span<const std::byte> bytes) override { return inner_->restore(bytes); }
  std::vector<Solid> solids() const override { return inner_->solids(); }
  std::vector<Pose> poses() const override { return inner_->poses(); }

 protected:
  Env& inner() { return *inner_; }
  const Env& inner() const { return *inner_; }

 private:
  std::unique_ptr<Env> inner_;
};

// For tasks whose observation is a position in the plane, and whose actions are two numbers: what
// `ovde inspect` draws the visits and the agent's beliefs over.
struct StateMap {
  std::array<double, 2> low = {}, high = {};  // of the positions
  std::array<double, 2> start = {};
  std::array<double, 2> goal = {};
  double goal_radius = 0;  // 0: there is no goal
  // Standard deviation of the noise in a step from (x, y).
  std::function<double(double x, double y)> noise;
  std::array<std::string, 2> action_names = {"action 1", "action 2"};
};

// A named set of option values of a task, asked for as "Task:name".
struct TaskPreset {
  std::string name;
  std::vector<std::pair<std::string, OptionValue>> values;
};

struct Task {
  std::string name;         // "GridChaos-v0"
  std::string summary;      // one line for `ovde list tasks`
  int horizon = 1000;       // default time limit (task.horizon)
  int steps_per_epoch = 0;  // default; 0: the horizon
  bool has_goal = false;    // success is meaningful
  std::vector<Option> options;
  std::vector<TaskPreset> presets;
  std::function<std::unique_ptr<Env>(const OptionValues&)> make;
  // The plane that the task's observations are positions in; empty: they are something else.
  std::function<StateMap(const OptionValues&)> map;
  // Values of tables other than "task" that this task brings ("noise.transition" = true).
  std::vector<std::pair<std::string, OptionValue>> brings;
  // make() may run on several threads at once: many agents then start sooner. The built-in ones do.
  bool makes_side_by_side = false;
};

// Registers a task; throws Error if the name is taken. Not thread-safe: register before training
// starts.
void register_task(Task task);

const std::vector<Task>& tasks();  // in order of registration, built-in ones first
const Task& find_task(
    const std::string& id);  // "Name" or "Name:preset"; InputError with the nearest name otherwise

}  // namespace ovde
