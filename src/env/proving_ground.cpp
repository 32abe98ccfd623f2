// Small tasks in the plane, each a test of exploration under noise (docs/tasks.md).
#include <cmath>
#include <numbers>

#include "env/plane.h"
#include "env/registry.h"

namespace ovde {

namespace {

// Left of an edge near the start, actions have no effect and strong noise moves the point: always
// novel, never useful. The goal is far away on the other side.
class NoiseTrap final : public Plane {
 public:
  explicit NoiseTrap(const OptionValues& options)
      : Plane(options, std::numbers::pi),
        edge_(options.number("edge")),
        noise_(options.number("noise")),
        quiet_(options.number("quiet")) {}

 private:
  double noise(Point at) const override { return obeys(at) ? quiet_ : noise_; }
  bool obeys(Point at) const override { return at[0] >= edge_; }

  double edge_, noise_, quiet_;
};

StateMap noise_trap_map(const OptionValues& options) {
  StateMap map = plane_map(options);
  map.noise = [edge = options.number("edge"), noise = options.number("noise"),
               quiet = options.number("quiet")](double x, double) {
    return x >= edge ? quiet : noise;
  };
  return map;
}

// A chasm between start and goal. The direct route is a narrow bridge with strong noise; the detour
// is longer and has little noise.
struct Chasm {
  explicit Chasm(const OptionValues& options)
      : half_length(options.number("chasm")),
        half_depth(options.number("depth")),
        half_bridge(options.number("bridge")),
        noise(options.number("noise")),
        quiet(options.number("quiet")) {}

  bool holds(double x, double y) const {
    return std::abs(x) <= half_depth && std::abs(y) <= half_length && !on_bridge(x, y);
  }
  bool on_bridge(double x, double y) const {
    return std::abs(x) <= half_depth && std::abs(y) <= half_bridge;
  }
  double noise_at(double x, double y) const { return on_bridge(x, y) ? noise : quiet; }

  double half_length, half_depth, half_bridge, noise, quiet;
};

class NoisyBridge final : public Plane {
 public:
  explicit NoisyBridge(const OptionValues& options)
      : Plane(options, std::numbers::pi), chasm_(options) {}

 private:
  double noise(Point at) const override { return chasm_.noise_at(at[0], at[1]); }
  bool is_lost(Point at) const override { return chasm_.holds(at[0], at[1]); }

  Chasm chasm_;
};

StateMap noisy_bridge_map(const OptionValues& options) {
  StateMap map = plane_map(options);
  map.noise = [chasm = Chasm(options)](double x, double y) { return chasm.noise_at(x, y); };
  return map;
}

Task plane_task(const char* name, const char* summary) {
  Task task;
  task.name = name;
  task.summary = summary;
  task.horizon = 100;
  task.has_goal = true;
  task.brings = {{"td3.noise", 0.5}, {"td3.correlation", 0.9}, {"td3.penalty", 1e-3}};
  return task;
}

}  // namespace

std::vector<Task> proving_ground_tasks() {
  Task trap = plane_task("NoiseTrap-v0",
                         "walk to a far goal, beside a region where only noise moves the point");
  trap.options = plane_options({0, 0}, {8, 8});
  trap.options.push_back(
      number("edge", "actions have no effect where x is less than this", -1e6, 1e6, -1.0));
  trap.options.push_back(
      number("noise", "standard deviation of the noise in the trap", 0, 1e6, 1.0));
  trap.options.push_back(number("quiet", "and elsewhere", 0, 1e6, 0.02));
  trap.make = [](const OptionValues& options) { return std::make_unique<NoiseTrap>(options); };
  trap.map = noise_trap_map;

  Task bridge =
      plane_task("NoisyBridge-v0", "cross a chasm by a short noisy bridge or a long quiet detour");
  bridge.options = plane_options({-5, 0}, {5, 0});
  bridge.options.push_back(
      number("chasm", "half the length of the chasm, along y", 1e-6, 1e6, 5.0));
  bridge.options.push_back(number("depth", "half its width, along x", 1e-6, 1e6, 1.5));
  bridge.options.push_back(number("bridge", "half the width of the bridge", 0, 1e6, 0.5));
  bridge.options.push_back(
      number("noise", "standard deviation of the noise on the bridge", 0, 1e6, 0.25));
  bridge.options.push_back(number("quiet", "and elsewhere", 0, 1e6, 0.02));
  bridge.make = [](const OptionValues& options) { return std::make_unique<NoisyBridge>(options); };
  bridge.map = noisy_bridge_map;
  return {std::move(trap), std::move(bridge)};
}

}  // namespace ovde
