// The tasks in which a point walks in a square to a goal. The observation is the position; the
// action is a direction and a distance; reaching the goal gives a reward of 100 and ends the
// episode. They differ in their ground.
#pragma once

#include <functional>
#include <numbers>
#include <vector>

#include <ovde/env.h>
#include "base/field.h"

namespace ovde {

struct Ground {
  // Standard deviation of the noise in a step from (x, y).
  std::function<double(double x, double y)> noise;
  // Whether actions have an effect at (x, y); empty: everywhere.
  std::function<bool(double x, double y)> obeys = {};
  // Whether the episode ends without a reward at (x, y); empty: nowhere.
  std::function<bool(double x, double y)> is_lost = {};
  // Direction of the move at action 1 (radians).
  double angle = std::numbers::pi;
};

// A list option of fixed length.
Option list_option(const char* name, const char* help, double low, double high,
                   const std::vector<double>& standard);

// A task with this ground. Its options are `options` and those that all tasks in the plane have,
// with these defaults for start and goal.
Task plane_task(const char* name, const char* summary, const std::vector<double>& start,
                const std::vector<double>& goal, std::vector<Option> options,
                Ground (*ground)(const OptionValues&));

}  // namespace ovde
