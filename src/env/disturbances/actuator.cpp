// Imperfect actuators (table `actuator`). In units of the half-width of the action box, around its
// middle, an action passes the dead zone, gain, bias, saturation and the lag, in this order.
#include <algorithm>
#include <cmath>

#include "env/disturbances/disturbances.h"

namespace ovde {

namespace {

class Actuator final : public Disturbance {
 public:
  Actuator(std::unique_ptr<Env> inner, const ActuatorOptions& options)
      : Disturbance(std::move(inner)), options_(options) {
    const Box& box = action_space();
    const std::vector<double> middles = middle(box);
    for (std::size_t i = 0; i < middles.size(); ++i)
      motors_.push_back({.middle = middles[i], .half = (box.high[i] - box.low[i]) / 2});
    applied_.resize(motors_.size());
  }

  Step step(std::span<const double> in, std::span<double> out) override {
    for (std::size_t i = 0; i < motors_.size(); ++i) {
      Motor& m = motors_[i];
      const double command = (in[i] - m.middle) / m.half;
      const double beyond = std::copysign(std::max(std::abs(command) - dead_zone_, 0.0), command);
      const double target = std::clamp(m.gain * beyond + m.bias, -saturation_, saturation_);
      m.output += share_ * (target - m.output);
      applied_[i] = m.middle + m.half * m.output;
    }
    return inner().step(applied_, out);
  }

 protected:
  void draw(std::uint64_t seed) override {
    using Kind = DisturbanceStream;
    Random gain = disturbance_stream(seed, Kind::actuator_gain);
    Random bias = disturbance_stream(seed, Kind::actuator_bias);
    for (Motor& m : motors_) {
      m.gain = drawn(options_.gain, gain);
      m.bias = drawn(options_.bias, bias);
      m.output = 0;
    }
    Random random = disturbance_stream(seed, Kind::actuator);
    const double lag = drawn(options_.lag, random);
    share_ = lag > 0 ? 1 - std::exp(-1 / lag) : 1;
    dead_zone_ = drawn(options_.dead_zone, random);
    saturation_ = drawn(options_.saturation, random);
  }

  void archive_episode(Archive& archive) override {
    for (Motor& m : motors_) archive(m.output);
  }

 private:
  struct Motor {
    double middle, half;        // the range of its actions
    double gain = 1, bias = 0;  // drawn for the episode
    double output = 0;          // after the lag
  };

  ActuatorOptions options_;
  std::vector<Motor> motors_;
  double share_ = 1;  // share of the distance to its target that an output moves in a step
  double dead_zone_ = 0, saturation_ = 1;
  std::vector<double> applied_;
};

}  // namespace

std::vector<Field<ActuatorOptions>> actuator_options() {
  using Keys = ActuatorOptions;
  return {
      field(&Keys::lag, "lag", {0, 1e4},
            "time constant, in steps, with which an actuator follows its command; 0: at once"),
      field(&Keys::gain, "gain", {0, 10},
            "factor of an actuator's commands; a range is drawn for each actuator and episode"),
      field(&Keys::bias, "bias", {-1, 1},
            "offset of an actuator's commands, in units of half their range; a range is drawn for "
            "each actuator and episode"),
      field(&Keys::dead_zone, "dead_zone", {0, 1},
            "commands below this have no effect and larger ones lose it, in units of half their "
            "range"),
      field(&Keys::saturation, "saturation", {0.001, 1},
            "largest effect, in units of half the range of commands"),
  };
}

std::unique_ptr<Env> with_actuators(std::unique_ptr<Env> inner, const ActuatorOptions& options) {
  if (options == ActuatorOptions()) return inner;
  return std::make_unique<Actuator>(std::move(inner), options);
}

}  // namespace ovde
