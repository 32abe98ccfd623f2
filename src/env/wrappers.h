// The wrappers between a task and an agent: the time limit, the scaling of actions from [-1, 1] to
// the task's box, and the base class of noise and disturbances.
#pragma once

#include <memory>
#include <vector>

#include <ovde/env.h>
#include "base/archive.h"

namespace ovde {

// The state of an environment, if it is Restorable.
inline std::optional<Bytes> saved_state(const Env& env) {
  const auto* const state = env.as<Restorable>();
  return state ? state->save() : std::nullopt;
}
inline bool restore_state(Env& env, std::span<const std::byte> bytes) {
  auto* const state = env.as<Restorable>();
  return state && state->restore(bytes);
}

// A wrapper that is saved with the environment inside.
class SavedWrapper : public EnvWrapper, public Restorable {
 public:
  using EnvWrapper::EnvWrapper;

  std::optional<Bytes> save() const final;
  bool restore(std::span<const std::byte> bytes) final;

  // Lists the wrapper's own state.
  virtual void archive(Archive& archive) = 0;
};

// Truncates an episode after `horizon` steps.
class TimeLimit final : public SavedWrapper {
 public:
  TimeLimit(std::unique_ptr<Env> inner, int horizon)
      : SavedWrapper(std::move(inner)), horizon_(horizon) {}

  void reset(std::uint64_t seed, std::span<double> observation) override;
  Step step(std::span<const double> action, std::span<double> observation) override;
  bool set_state(std::span<const double> position, std::span<const double> velocity,
                 std::span<double> observation) override;
  void archive(Archive& archive) override { archive(steps_); }

 private:
  int horizon_;
  int steps_ = 0;
};

// Maps actions from [-1, 1], to which they are clipped, to the inner task's box.
class ScaledActions final : public EnvWrapper {
 public:
  explicit ScaledActions(std::unique_ptr<Env> inner);

  const Box& action_space() const override { return unit_; }
  const Box& own_action_space() const { return EnvWrapper::action_space(); }  // the task's box
  Step step(std::span<const double> action, std::span<double> observation) override;

 private:
  Box unit_;
  std::vector<double> scaled_;
};

// A wrapper that draws values at the start of an episode.
class Disturbance : public SavedWrapper {
 public:
  using SavedWrapper::SavedWrapper;

  void reset(std::uint64_t seed, std::span<double> observation) final;
  // The episode has the values of the last reset's seed.
  bool set_state(std::span<const double> position, std::span<const double> velocity,
                 std::span<double> observation) final;
  void archive(Archive& archive) final;

 protected:
  // Seeds the streams and draws the episode's values; called before the inner environment starts.
  virtual void draw(std::uint64_t seed) = 0;
  // Changes the first observation.
  virtual void observe_first(std::span<double> /*observation*/) {}
  // Lists the state that changes within an episode; draw() is called before it is restored.
  virtual void archive_episode(Archive& archive) = 0;

 private:
  std::uint64_t seed_ = 0;
};

}  // namespace ovde
