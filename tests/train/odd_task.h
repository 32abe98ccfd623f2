// A task that misbehaves on demand, for tests of what a run does then.
#pragma once

#include <atomic>
#include <limits>
#include <optional>
#include <stdexcept>

#include <ovde/env.h>

namespace ovde {

inline std::atomic<int> odd_steps{0};  // steps in all environments of the task

// A point on a line. task.fault at exploring or evaluating step number task.at of the environment.
class OddEnv final : public Env {
 public:
  explicit OddEnv(const OptionValues& options)
      : fault_(options.text("fault")), at_(options.integer("at")) {}

  int observation_size() const override { return 1; }
  const Box& action_space() const override { return space_; }
  void reset(std::uint64_t seed, std::span<double> observation) override {
    random_ = Random(seed, Stream::environment);
    observation[0] = x_ = random_.uniform(-1, 1);
  }
  Step step(std::span<const double> action, std::span<double> observation) override {
    const bool now = ++steps_ == at_;
    ++odd_steps;
    if (now && fault_ == "throw") throw std::runtime_error("the motor is on fire");
    x_ = 0.9 * x_ + 0.1 * action[0] + 0.01 * random_.normal();
    observation[0] = now && fault_ == "observation" ? kNaN : x_;
    if (now && fault_ == "large reward") return {.reward = 1e300};
    return {.reward = now && fault_ == "reward" ? kNaN : -x_ * x_};
  }

 private:
  static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  std::string fault_;
  int at_;
  int steps_ = 0;
  double x_ = 0;
  Random random_;
  Box space_ = box(1, -1, 1);
};

inline void register_odd_task() {
  static const bool once = [] {
    Task task;
    task.name = "Odd-v0";
    task.summary = "misbehaves";
    task.horizon = 30;
    task.options = {
        {.name = "fault", .default_value = std::string("none"), .help = "what goes wrong"},
        {.name = "at", .default_value = 1e9, .help = "when", .integer = true}};
    task.make = [](const OptionValues& options) { return std::make_unique<OddEnv>(options); };
    register_task(task);
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace ovde
