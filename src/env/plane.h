// Base class of the tasks in which a point walks in a square to a goal. The observation is the
// position; the action is a direction and a distance; reaching the goal gives a reward of 100 and
// ends the episode.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ovde/env.h>
#include <ovde/random.h>
#include "base/field.h"

namespace ovde {

class Plane : public Env, public Restorable, public Disturbable {
 public:
  // Reads plane_options(). angle: direction of the move at action 1 (radians).
  Plane(const OptionValues& options, double angle);

  int observation_size() const override { return 2; }
  const Box& action_space() const override { return action_space_; }
  void reset(std::uint64_t seed, std::span<double> observation) override;
  Step step(std::span<const double> action, std::span<double> observation) override;
  bool disturb(double scale, Random& random, std::span<double> observation) override;
  std::optional<double> coordinate(const std::string& name) const override;
  std::vector<std::string> coordinates() const override { return {"x", "y"}; }
  Signals signals() const override;
  std::optional<Bytes> save() const override;
  bool restore(std::span<const std::byte> bytes) override;

 protected:
  using Point = std::array<double, 2>;

  // Standard deviation of the noise in a step from `at`.
  virtual double noise(Point at) const = 0;
  // Whether actions have an effect at `at`.
  virtual bool obeys(Point /*at*/) const { return true; }
  // Whether the episode ends without a reward at `at`.
  virtual bool is_lost(Point /*at*/) const { return false; }

 private:
  void check_inside(const OptionValues& options, const char* name) const;
  void observe(std::span<double> observation) const;

  double half_width_, step_, radius_, angle_;
  Point start_, goal_;
  Box action_space_ = box(2, -1, 1);

  std::uint64_t seed_ = 0;
  Random random_;
  Point position_{};
};

// A list option of fixed length.
Option list_option(const char* name, const char* help, double low, double high,
                   const std::vector<double>& standard);

// The options that all these tasks have, with these defaults for start and goal.
std::vector<Option> plane_options(const std::vector<double>& start,
                                  const std::vector<double>& goal);

// The map of such a task, without its noise.
StateMap plane_map(const OptionValues& options);

}  // namespace ovde
