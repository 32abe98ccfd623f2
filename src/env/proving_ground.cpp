// Small tasks in the plane, each a test of exploration under noise (docs/tasks.md).
#include <cmath>

#include "env/plane.h"
#include "env/registry.h"

namespace ovde {

namespace {

// Left of an edge near the start, actions have no effect and strong noise moves the point: always
// novel, never useful. The goal is far away on the other side.
Ground noise_trap(const OptionValues& options) {
  const double edge = options.number("edge"), noise = options.number("noise"),
               quiet = options.number("quiet");
  return {.noise = [=](double x, double) { return x >= edge ? quiet : noise; },
          .obeys = [=](double x, double) { return x >= edge; }};
}

// A chasm between start and goal. The direct route is a narrow bridge with strong noise; the detour
// is longer and has little noise.
Ground noisy_bridge(const OptionValues& options) {
  const double half_length = options.number("chasm"), half_depth = options.number("depth"),
               half_bridge = options.number("bridge");
  const double noise = options.number("noise"), quiet = options.number("quiet");
  const auto on_bridge = [=](double x, double y) {
    return std::abs(x) <= half_depth && std::abs(y) <= half_bridge;
  };
  const auto in_chasm = [=](double x, double y) {
    return std::abs(x) <= half_depth && std::abs(y) <= half_length && !on_bridge(x, y);
  };
  return {.noise = [=](double x, double y) { return on_bridge(x, y) ? noise : quiet; },
          .is_lost = in_chasm};
}

}  // namespace

std::vector<Task> proving_ground_tasks() {
  return {
      plane_task(
          "NoiseTrap-v0", "walk to a far goal, beside a region where only noise moves the point",
          {0, 0}, {8, 8},
          {number("edge", "actions have no effect where x is less than this", -1e6, 1e6, -1.0),
           number("noise", "standard deviation of the noise in the trap", 0, 1e6, 1.0),
           number("quiet", "and elsewhere", 0, 1e6, 0.02)},
          noise_trap),
      plane_task("NoisyBridge-v0", "cross a chasm by a short noisy bridge or a long quiet detour",
                 {-5, 0}, {5, 0},
                 {number("chasm", "half the length of the chasm, along y", 1e-6, 1e6, 5.0),
                  number("depth", "half its width, along x", 1e-6, 1e6, 1.5),
                  number("bridge", "half the width of the bridge", 0, 1e6, 0.5),
                  number("noise", "standard deviation of the noise on the bridge", 0, 1e6, 0.25),
                  number("quiet", "and elsewhere", 0, 1e6, 0.02)},
                 noisy_bridge),
  };
}

}  // namespace ovde
