// Environments and the registry of tasks. A program adds a task by deriving from Env, which is
// Gymnasium's interface with flat arrays, and calling register_task(). Resuming in the middle of an
// episode, injected noise, other physics and pictures are optional interfaces, which an environment
// derives from in addition.
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

#include <ovde/box.h>
#include <ovde/bytes.h>
#include <ovde/option.h>
#include <ovde/random.h>

namespace ovde {

Box box(int size, double low, double high);

// The result of a step, besides the observation.
struct Step {
  double reward = 0;
  bool terminated = false;  // the task has ended: the value of the next state is 0
  bool truncated = false;   // the time limit ended the episode: the next state has a value
  bool success = false;     // the task's goal was reached in this step
  bool operator==(const Step&) const = default;
};

// Name and unit of one number of an observation or action.
struct Signal {
  std::string name;
  std::string unit;  // a value of 1 means this: "m/s", "120 N m"; empty: no unit
};

// Names, units and rate of a task, for a controller; part of an exported policy's contract.
struct Signals {
  std::vector<Signal> observation, action;  // one for each element, or empty
  double rate = 0;                          // actions per second; 0: the task has no physical time
};

class Env {
 public:
  virtual ~Env() = default;

  virtual int observation_size() const = 0;
  virtual const Box& action_space() const = 0;

  // Starts an episode, whose randomness must follow from `seed` alone, and writes the observation.
  virtual void reset(std::uint64_t seed, std::span<double> observation) = 0;
  virtual Step step(std::span<const double> action, std::span<double> observation) = 0;

  virtual Signals signals() const { return {}; }

  // The environment inside a wrapper.
  virtual Env* wrapped() { return nullptr; }

  // An optional interface (Restorable, Disturbable, Physical, Drawable, RewardTerms) of this
  // environment, or else of the one it wraps; null if none of them has it.
  template <typename Interface>
  Interface* as() {
    for (Env* env = this; env != nullptr; env = env->wrapped())
      if (auto* const found = dynamic_cast<Interface*>(env)) return found;
    return nullptr;
  }
  template <typename Interface>
  const Interface* as() const {
    return const_cast<Env*>(this)->as<Interface>();
  }
};

// An environment whose state can be saved and set. Without it, a resumed run starts a new episode
// and says so.
class Restorable {
 public:
  virtual ~Restorable() = default;

  // The state in the middle of an episode, exact to the bit; nullopt or false: not possible.
  virtual std::optional<Bytes> save() const = 0;
  virtual bool restore(std::span<const std::byte> bytes) = 0;

  // Starts an episode from recorded positions and velocities (`ovde replay`); false: the state does
  // not consist of those.
  virtual bool set_state(std::span<const double> /*position*/, std::span<const double> /*velocity*/,
                         std::span<double> /*observation*/) {
    return false;
  }
};

// A coordinate of the state that injected noise can change.
struct StateCoordinate {
  bool velocity = false;  // false: a position
  double spread = 0;      // its standard deviation under random actions
};

// An environment whose state injected noise can change (noise.transition).
class Disturbable {
 public:
  virtual ~Disturbable() = default;

  // Adds scale * N(0, 1) to every coordinate of the state and writes the new observation; false:
  // not possible.
  virtual bool disturb(double scale, Random& random, std::span<double> observation) = 0;

  // The same with one scale for each element of disturbables(), in that order; needed for
  // noise.draw = "coordinate", noise.part and noise.relative.
  virtual std::vector<StateCoordinate> disturbables() const { return {}; }
  virtual bool disturb_each(std::span<const double> /*scales*/, Random& /*random*/,
                            std::span<double> /*observation*/) {
    return false;
  }

  // The value of a named coordinate ("x", "torso_z"), on which noise may depend
  // (noise.coordinate), and all names.
  virtual std::optional<double> coordinate(const std::string& /*name*/) const {
    return std::nullopt;
  }
  virtual std::vector<std::string> coordinates() const { return {}; }
};

// Factors of the nominal values of a physical model.
struct ModelFactors {
  double mass = 1;      // masses and inertias of all bodies
  double friction = 1;  // for all contacts
  double damping = 1;   // for all joints
  double gravity = 1;
  double motor = 1;  // strength of all motors
};

// An environment with a physical model, which can be varied (table `model`) and pushed (`push`).
class Physical {
 public:
  virtual ~Physical() = default;

  // Sets the model to its nominal values times the factors; an episode is started or restored next.
  virtual void vary(const ModelFactors& factors) = 0;

  // The names of the bodies that push() can move, the root body first.
  virtual std::vector<std::string> pushable_bodies() = 0;

  // Pushes body number `body` of pushable_bodies() during the next step, in a random horizontal
  // direction. `velocity`: the impulse divided by the mass of the body's robot, in m/s.
  virtual void push(int body, double velocity, Random& random) = 0;
};

// One weighted term of a reward.
struct RewardTerm {
  std::string name;
  double value = 0;
};

// An environment whose reward is the sum of named terms.
class RewardTerms {
 public:
  virtual ~RewardTerms() = default;

  // The terms of the last step's reward, always in the same order; empty: it has none.
  virtual std::span<const RewardTerm> reward_terms() const = 0;
};

struct Pose {
  std::array<double, 3> position = {};               // the centre
  std::array<double, 4> orientation = {1, 0, 0, 0};  // unit quaternion (w, x, y, z)
};

// A geometric body in a picture, with the sizes of MuJoCo's geoms: half the extent along each axis;
// for a sphere its radius; for a capsule or cylinder (along z) radius and half length; for a plane
// (normal z) half its sides, 0: infinite.
struct Solid {
  enum class Kind { plane, sphere, capsule, ellipsoid, cylinder, box };
  Kind kind = Kind::sphere;
  std::array<double, 3> size = {};
  std::array<double, 4> colour = {0.5, 0.5, 0.5, 1};  // red, green, blue, opacity, from 0 to 1
  std::optional<Pose> fixed = {};                     // nullopt: it moves
};

// An environment that can be drawn (`ovde eval --record`). Drawing does not change the state.
class Drawable {
 public:
  virtual ~Drawable() = default;

  virtual std::vector<Solid> solids() const = 0;
  virtual std::vector<Pose> poses() const = 0;  // only moving solids, in the order of solids()
};

// A wrapper, as in Gymnasium: forwards every call to the environment inside. Derive from it and
// override the calls that differ. A wrapper with a state of its own derives from Restorable too,
// and saves the inner environment's state with its own.
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
  Signals signals() const override { return inner_->signals(); }
  Env* wrapped() override { return inner_.get(); }

 protected:
  Env& inner() { return *inner_; }
  const Env& inner() const { return *inner_; }

 private:
  std::unique_ptr<Env> inner_;
};

// The map of a task whose observation is a position in the plane and whose action is two numbers;
// `ovde inspect` draws visits and value estimates over it.
struct StateMap {
  std::array<double, 2> low = {}, high = {};  // bounds of the positions
  std::array<double, 2> start = {};
  std::array<double, 2> goal = {};
  double goal_radius = 0;  // 0: there is no goal
  // Standard deviation of the noise in a step from (x, y).
  std::function<double(double x, double y)> noise;
  std::array<std::string, 2> action_names = {"action 1", "action 2"};
};

// A named set of option values, chosen as "Task:name".
struct TaskPreset {
  std::string name;
  std::vector<std::pair<std::string, OptionValue>> values;
};

struct Task {
  std::string name;         // "GridChaos-v0"
  std::string summary;      // one line for `ovde list tasks`
  int horizon = 1000;       // default time limit (task.horizon)
  int steps_per_epoch = 0;  // default; 0: the horizon
  bool has_goal = false;    // Step::success is meaningful
  std::vector<Option> options;
  std::vector<TaskPreset> presets;
  std::function<std::unique_ptr<Env>(const OptionValues&)> make;
  // Empty if observations are not positions in the plane.
  std::function<StateMap(const OptionValues&)> map;
  // The task's defaults for keys of other tables ("noise.transition" = true).
  std::vector<std::pair<std::string, OptionValue>> brings;
  // make() may be called on several threads at once, so that a large population starts sooner.
  bool makes_side_by_side = false;
};

// Registers a task; throws Error if the name is taken. Not thread-safe: register before training
// starts.
void register_task(Task task);

const std::vector<Task>& tasks();  // in order of registration, built-in ones first

// The task of "Name" or "Name:preset"; throws InputError, with the most similar name, if unknown.
const Task& find_task(const std::string& id);

}  // namespace ovde
