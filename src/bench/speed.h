// How fast an environment steps: random actions, resets, no injected noise. For a MuJoCo task the
// engine alone is timed beside it, on the same states and actions, in turns of a few milliseconds:
// whatever else the machine does slows both alike.
#pragma once

#include <optional>
#include <string>

namespace ovde {

struct EnvSpeed {
  double per_second = 0;                         // steps of all threads together
  std::optional<double> engine_per_second = {};  // the same of mj_step alone
  std::optional<double> ratio = {};              // of the two, turn by turn
};

// Each thread steps an environment of its own. Takes about twice `seconds`.
EnvSpeed env_speed(const std::string& task, int threads, double seconds);

}  // namespace ovde
