// Disturbances of real machines for any task: delays, imperfect sensors and actuators (tables
// delay, sensor, actuator), a model that differs from the nominal one (model), pushes (push), and
// the history of observations and actions that an agent needs to cope with delays (task.history).
// docs/disturbances.md says in which order they act. Each draws its numbers from streams of its
// own, seeded by the episode's seed: switching one on changes none of the others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ovde/env.h>
#include "base/field.h"
#include "env/noise.h"
#include "env/wrappers.h"

namespace ovde {

// How often a delay is drawn.
enum class DelayDraw { episode, step };
template <>
inline constexpr Names<DelayDraw> kNames<DelayDraw> = {{DelayDraw::episode, "episode"},
                                                       {DelayDraw::step, "step"}};

struct DelayOptions {
  Range action = {0, 0}, observation = {0, 0};  // steps
  DelayDraw draw = DelayDraw::episode;
};

// Standard deviations and the quantum are in units of each observation's spread.
struct SensorOptions {
  double noise = 0;
  double bias = 0;         // standard deviation of an offset drawn for each episode
  double drift = 0;        // standard deviation of the steps of a random walk
  double dropped = 0;      // probability that a reading repeats the last one
  double resolution = 0;   // quantum
  std::string group = {};  // names, beginnings and *ends of observations; empty: all
};

// Ranges are drawn for each episode, gain and bias for each actuator too. All but the lag are in
// units of half the range of actions.
struct ActuatorOptions {
  Range lag = {0, 0};  // time constant in steps
  Range gain = {1, 1};
  Range bias = {0, 0};
  Range dead_zone = {0, 0};
  Range saturation = {1, 1};

  bool operator==(const ActuatorOptions&) const = default;
};

// Factors of the model's nominal values, drawn for each episode.
struct ModelOptions {
  Range mass = {1, 1}, friction = {1, 1}, damping = {1, 1}, gravity = {1, 1}, motor = {1, 1};
};

struct PushOptions {
  double probability = 0;   // in each step
  Range velocity = {1, 1};  // change of the robot's velocity in m/s, drawn for each push
  std::string body = {};    // empty: the root body
};

struct Disturbances {
  DelayOptions delay = {};
  SensorOptions sensor = {};
  ActuatorOptions actuator = {};
  ModelOptions model = {};
  PushOptions push = {};
  int history = 0;  // task.history
};

std::vector<Field<DelayOptions>> delay_options();
std::vector<Field<SensorOptions>> sensor_options();
std::vector<Field<ActuatorOptions>> actuator_options();
std::vector<Field<ModelOptions>> model_options();
std::vector<Field<PushOptions>> push_options();

bool is_on(const SensorOptions& options);

// The signals of observations with a history of this length.
Signals with_history(Signals signals, int length);

// Wraps a task in its noise and in the disturbances that are on. `name` identifies the task and its
// options: the spread of its observations is measured once for each name, unless the task keeps it.
// Throws OptionError if an option contradicts the task.
std::unique_ptr<Env> with_disturbances(std::unique_ptr<Env> task, const NoiseOptions& noise,
                                       const Disturbances& disturbances, const std::string& name);

// An environment that keeps the spread of its observations itself, because a task of its name may
// later be another one.
class KeepsSpread {
 public:
  virtual ~KeepsSpread() = default;
  virtual std::vector<double> spread() = 0;
};

// Standard deviations of a task's observations over 20 episodes of at most 100 uniformly random
// actions, the same numbers in each call. Leaves the task in the middle of an episode.
std::vector<double> observation_spread(Env& task);

// Substreams of Stream::disturbance after those of the noise: append, never reorder.
enum class DisturbanceStream : std::uint32_t {
  action_delay = 16,
  observation_delay,
  sensor_noise,
  sensor_bias,
  sensor_drift,
  sensor_dropped,
  actuator_gain,
  actuator_bias,
  actuator,
  model,
  push,
};
inline Random disturbance_stream(std::uint64_t seed, DisturbanceStream kind) {
  return {seed, Stream::disturbance, static_cast<std::uint32_t>(kind)};
}

// A number drawn from a range.
inline double drawn(const Range& range, Random& random) {
  return random.uniform(range.low, range.high);
}

// The middle of an action box: the action at rest.
std::vector<double> middle(const Box& box);

// The last vectors of numbers.
class Ring {
 public:
  Ring(int size, int length) : size_(size), length_(length), values_(std::size_t(size) * length) {}

  void fill(std::span<const double> values);
  void push(std::span<const double> values);
  std::span<const double> operator[](int age) const;  // 0: the newest

  void archive(Archive& archive);

 private:
  std::size_t size_;
  int length_, newest_ = 0;
  std::vector<double> values_;
};

// The wrappers, from the innermost to the outermost; each returns `inner` itself if it is off.
std::unique_ptr<Env> with_model(std::unique_ptr<Env> inner, const ModelOptions& options);
std::unique_ptr<Env> with_pushes(std::unique_ptr<Env> inner, const PushOptions& options);
std::unique_ptr<Env> with_actuators(std::unique_ptr<Env> inner, const ActuatorOptions& options);
std::unique_ptr<Env> with_sensors(std::unique_ptr<Env> inner, const SensorOptions& options,
                                  const std::vector<double>& spread);
std::unique_ptr<Env> with_delays(std::unique_ptr<Env> inner, const DelayOptions& options);
std::unique_ptr<Env> with_history(std::unique_ptr<Env> inner, int length);

}  // namespace ovde
