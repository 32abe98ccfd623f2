// GridChaos: a point that has to cross a square to a goal in its corner, pushed around by noise
// whose strength depends on the quadrant it is in. The paper gives no geometry; this is a
// reconstruction (docs/tasks.md).
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include <ovde/random.h>
#include "base/field.h"
#include "env/builtin.h"

namespace ovde {

namespace {

// 0: x>=0, y>=0; 1: x<0, y>=0; 2: x<0, y<0; 3: x>=0, y<0 (the paper's 1 to 4)
int quadrant(double x, double y) {
  if (y >= 0) return x >= 0 ? 0 : 1;
  return x >= 0 ? 3 : 2;
}

std::array<double, 2> pair(const std::vector<double>& list) { return {list[0], list[1]}; }

class GridChaos final : public Env {
 public:
  explicit GridChaos(const OptionValues& options)
      : half_width_(options.number("half_width")),
        step_(options.number("step")),
        radius_(options.number("radius")),
        angle_(options.number("angle")),
        start_(pair(options.list("start"))),
        goal_(pair(options.list("goal"))) {
    std::copy_n(options.list("noise").begin(), 4, noise_);
    for (const char* name : {"start", "goal"}) check_inside(options, name);
  }

  int observation_size() const override { return 2; }
  const Box& action_space() const override { return action_space_; }

  void reset(std::uint64_t seed, std::span<double> observation) override {
    random_ = Random(seed, Stream::environment);
    seed_ = seed;
    position_ = start_;
    observe(observation);
  }

  Step step(std::span<const double> action, std::span<double> observation) override {
    // the quadrant before the move decides how noisy the move is
    const double noise = noise_[quadrant(position_[0], position_[1])];
    const double angle = angle_ * action[0];
    const double distance = step_ * (action[1] + 1) / 2;
    const std::array<double, 2> move = {distance * std::cos(angle), distance * std::sin(angle)};
    for (int i = 0; i < 2; ++i) {
      const double next = position_[i] + move[i] + noise * random_.normal();
      position_[i] = std::clamp(next, -half_width_, half_width_);
    }
    observe(observation);

    const bool reached = std::hypot(position_[0] - goal_[0], position_[1] - goal_[1]) <= radius_;
    return {.reward = reached ? 100.0 : 0.0, .terminated = reached, .success = reached};
  }

  bool disturb(double scale, Random& random, std::span<double> observation) override {
    for (double& x : position_)
      x = std::clamp(x + scale * random.normal(), -half_width_, half_width_);
    observe(observation);
    return true;
  }

  std::optional<double> coordinate(const std::string& name) const override {
    if (name == "x") return position_[0];
    if (name == "y") return position_[1];
    return std::nullopt;
  }
  std::vector<std::string> coordinates() const override { return {"x", "y"}; }

  std::optional<Bytes> save() const override {
    ByteWriter out;
    out.put(seed_);
    out.put(random_.position());
    out.put(position_);
    return out.take();
  }

  bool restore(std::span<const std::byte> bytes) override {
    ByteReader in(bytes);
    seed_ = in.get<std::uint64_t>();
    random_ = Random(seed_, Stream::environment);
    random_.seek(in.get<std::uint64_t>());
    position_ = in.get<std::array<double, 2>>();
    return true;
  }

 private:
  void check_inside(const OptionValues& options, const char* name) const {
    const std::vector<double>& point = options.list(name);
    if (std::ranges::all_of(point, [&](double x) { return std::abs(x) <= half_width_; })) return;
    throw OptionError(fmt::format("task.{}", name), point,
                      fmt::format("must lie in the square, from {0} to {1} (task.half_width = {1})",
                                  -half_width_, half_width_));
  }

  void observe(std::span<double> observation) const {
    observation[0] = position_[0];
    observation[1] = position_[1];
  }

  double half_width_, step_, radius_, angle_;
  std::array<double, 2> start_, goal_;
  double noise_[4];
  Box action_space_ = box(2, -1, 1);

  std::uint64_t seed_ = 0;
  Random random_;
  std::array<double, 2> position_{};
};

StateMap grid_chaos_map(const OptionValues& options) {
  const double half_width = options.number("half_width");
  StateMap map;
  map.low = {-half_width, -half_width};
  map.high = {half_width, half_width};
  map.start = pair(options.list("start"));
  map.goal = pair(options.list("goal"));
  map.goal_radius = options.number("radius");
  map.noise = [noise = options.list("noise")](double x, double y) { return noise[quadrant(x, y)]; };
  map.action_names = {"direction", "distance"};
  return map;
}

// As many numbers as the default has.
Option list(const char* name, const char* help, double low, double high,
            const std::vector<double>& standard) {
  Option option = number(name, help, low, high, standard);
  option.length = static_cast<int>(standard.size());
  return option;
}

TaskPreset noise_row(const char* name, double q1, double q2, double q3, double q4) {
  return {name, {{"noise", std::vector<double>{q1, q2, q3, q4}}}};
}

}  // namespace

Task grid_chaos_task() {
  Task task;
  task.name = "GridChaos-v0";
  task.summary = "cross a noisy square to a goal in its corner; sparse reward 100";
  task.horizon = 100;
  task.has_goal = true;
  task.options = {
      number("half_width", "half the side of the square", 1e-3, 1e6, 10.0),
      number("step", "longest move of one step", 1e-6, 1e6, 0.2),
      list("start", "where an episode starts", -1e6, 1e6, {0, 0}),
      list("goal", "centre of the goal", -1e6, 1e6, {9, 9}),
      number("radius", "radius of the goal", 1e-6, 1e6, 1.0),
      list("noise",
           "standard deviation of the noise in quadrants 1 to 4 (x>=0,y>=0; x<0,y>=0; x<0,y<0; "
           "x>=0,y<0)",
           0, 1e6, {0.1, 0.5, 0.5, 0.1}),
      number("angle", "angle of the move at action 1 (radians)", 0, 2 * std::numbers::pi,
             std::numbers::pi),
  };
  // Tables 1 and 2 of the paper
  task.presets = {
      noise_row("s", 0.1, 0.5, 0.5, 0.1),         noise_row("a", 0.0, 0.5, 0.1, 0.1),
      noise_row("b", 0.0, 0.05, 0.01, 0.01),      noise_row("c", 0.05, 0.1, 0.1, 0.05),
      noise_row("d", 0.001, 0.005, 0.005, 0.001), noise_row("e", 0, 0, 0, 0),
      noise_row("f", 0.1, 0.05, 0.05, 0.1),       noise_row("g", 0.05, 0.005, 0.005, 0.05),
      noise_row("h", 0.01, 0.005, 0.005, 0.01),   noise_row("i", 0.005, 0.001, 0.001, 0.005),
  };
  task.make = [](const OptionValues& options) { return std::make_unique<GridChaos>(options); };
  task.map = grid_chaos_map;
  // no reward shows the way: a deterministic policy has to be kept from the corners of its square,
  // and strides that keep their direction for a while get further than a random walk
  task.brings = {{"td3.noise", 0.5}, {"td3.correlation", 0.9}, {"td3.penalty", 1e-3}};
  return task;
}

}  // namespace ovde
