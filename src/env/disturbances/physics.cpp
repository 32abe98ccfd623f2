// A physical model that differs from the nominal one (table `model`), and pushes (table `push`).
// Only tasks with a simulator (Physical) can have them.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "env/disturbances/disturbances.h"

namespace ovde {

namespace {

// The simulator of the task; throws OptionError, which names the key, where there is none.
Physical& simulator_of(Env& env, const std::string& key, const OptionValue& value,
                       const std::string& off) {
  auto* const found = env.as<Physical>();
  if (found == nullptr)
    throw OptionError(key, value,
                      "this task has no physical model (MuJoCo tasks have one); must be " + off);
  return *found;
}

class Model final : public Disturbance {
 public:
  Model(std::unique_ptr<Env> inner, const ModelOptions& options, Physical& simulator)
      : Disturbance(std::move(inner)), options_(options), simulator_(simulator) {}

 protected:
  void draw(std::uint64_t seed) override {
    Random random = disturbance_stream(seed, DisturbanceStream::model);
    // drawn in the order of the members
    simulator_.vary({.mass = drawn(options_.mass, random),
                     .friction = drawn(options_.friction, random),
                     .damping = drawn(options_.damping, random),
                     .gravity = drawn(options_.gravity, random),
                     .motor = drawn(options_.motor, random)});
  }
  void archive_episode(Archive&) override {}

 private:
  ModelOptions options_;
  Physical& simulator_;
};

class Push final : public Disturbance {
 public:
  Push(std::unique_ptr<Env> inner, const PushOptions& options, Physical& simulator, int body)
      : Disturbance(std::move(inner)), options_(options), simulator_(simulator), body_(body) {}

  Step step(std::span<const double> action, std::span<double> out) override {
    if (random_.uniform() < options_.probability)
      simulator_.push(body_, drawn(options_.velocity, random_), random_);
    return inner().step(action, out);
  }

 protected:
  void draw(std::uint64_t seed) override {
    random_ = disturbance_stream(seed, DisturbanceStream::push);
  }
  void archive_episode(Archive& archive) override { archive(random_); }

 private:
  PushOptions options_;
  Physical& simulator_;
  int body_;
  Random random_;
};

// The number of the body that push.body names; of the root body if it is empty.
int body_of(Physical& simulator, const std::string& name) {
  const std::vector<std::string> bodies = simulator.pushable_bodies();
  const auto found = name.empty() ? bodies.begin() : std::ranges::find(bodies, name);
  if (found == bodies.end())
    throw OptionError("push.body", name,
                      bodies.empty() ? "no body of this task can be pushed"
                                     : fmt::format("must be a body of the task that can move "
                                                   "horizontally: {}",
                                                   fmt::join(bodies, ", ")));
  return static_cast<int>(found - bodies.begin());
}

}  // namespace

std::vector<Field<ModelOptions>> model_options() {
  using Keys = ModelOptions;
  return {
      field(&Keys::mass, "mass", {0.01, 100}, "factor of all masses and inertias"),
      field(&Keys::friction, "friction", {0, 100}, "factor of all contacts' friction"),
      field(&Keys::damping, "damping", {0, 100}, "factor of all joints' damping"),
      field(&Keys::gravity, "gravity", {0, 100}, "factor of gravity"),
      field(&Keys::motor, "motor", {0, 100}, "factor of all motors' strength"),
  };
}

std::vector<Field<PushOptions>> push_options() {
  using Keys = PushOptions;
  return {
      field(&Keys::probability, "probability", {0, 1}, "probability of a push in each step"),
      field(&Keys::velocity, "velocity", {0, 1e3},
            "change of the robot's velocity by a push, in m/s, in a random horizontal direction; a "
            "range is drawn for each push"),
      field(&Keys::body, "body", "the body that is pushed; empty: the root body"),
  };
}

std::unique_ptr<Env> with_model(std::unique_ptr<Env> inner, const ModelOptions& options) {
  Physical* simulator = nullptr;
  for (const Field<ModelOptions>& key : model_options()) {
    const OptionValue value = key.get(options);
    if (value == key.option.default_value) continue;
    simulator = &simulator_of(*inner, "model." + key.option.name, value, "1");
  }
  if (simulator == nullptr) return inner;
  return std::make_unique<Model>(std::move(inner), options, *simulator);
}

std::unique_ptr<Env> with_pushes(std::unique_ptr<Env> inner, const PushOptions& options) {
  if (options.probability == 0 || options.velocity.high == 0) return inner;
  Physical& simulator = simulator_of(*inner, "push.probability", options.probability, "0");
  const int body = body_of(simulator, options.body);
  return std::make_unique<Push>(std::move(inner), options, simulator, body);
}

}  // namespace ovde
