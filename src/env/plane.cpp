#include "env/plane.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include <ovde/random.h>
#include "base/archive.h"

namespace ovde {

namespace {

using Point = std::array<double, 2>;

Point point(const std::vector<double>& list) { return {list[0], list[1]}; }

class Plane final : public Env, public Restorable, public Disturbable {
 public:
  Plane(const OptionValues& options, Ground ground);

  int observation_size() const override { return 2; }
  const Box& action_space() const override { return action_space_; }
  void reset(std::uint64_t seed, std::span<double> observation) override;
  Step step(std::span<const double> action, std::span<double> observation) override;
  bool disturb(double scale, Random& random, std::span<double> observation) override;
  std::optional<double> coordinate(const std::string& name) const override;
  std::vector<std::string> coordinates() const override { return {"x", "y"}; }
  Signals signals() const override;
  std::optional<Bytes> save() const override { return save_members(*this); }
  bool restore(std::span<const std::byte> bytes) override {
    restore_members(bytes, *this);
    return true;
  }
  void archive(Archive& archive) {
    archive(seed_);
    if (archive.restores()) random_ = Random(seed_, Stream::environment);
    archive(random_, position_);
  }

 private:
  void check_inside(const OptionValues& options, const char* name) const;
  void observe(std::span<double> observation) const;

  Ground ground_;
  double half_width_, step_, radius_;
  Point start_, goal_;
  Box action_space_ = box(2, -1, 1);

  std::uint64_t seed_ = 0;
  Random random_;
  Point position_{};
};

Plane::Plane(const OptionValues& options, Ground ground)
    : ground_(std::move(ground)),
      half_width_(options.number("half_width")),
      step_(options.number("step")),
      radius_(options.number("radius")),
      start_(point(options.list("start"))),
      goal_(point(options.list("goal"))) {
  for (const char* name : {"start", "goal"}) check_inside(options, name);
}

void Plane::reset(std::uint64_t seed, std::span<double> observation) {
  random_ = Random(seed, Stream::environment);
  seed_ = seed;
  position_ = start_;
  observe(observation);
}

Step Plane::step(std::span<const double> action, std::span<double> observation) {
  // the noise is that of the position before the move
  const double x = position_[0], y = position_[1], deviation = ground_.noise(x, y);
  const double angle = ground_.angle * action[0];
  const bool obeys = !ground_.obeys || ground_.obeys(x, y);
  const double distance = obeys ? step_ * (action[1] + 1) / 2 : 0;
  const Point move = {distance * std::cos(angle), distance * std::sin(angle)};
  for (int i = 0; i < 2; ++i) {
    const double next = position_[i] + move[i] + deviation * random_.normal();
    position_[i] = std::clamp(next, -half_width_, half_width_);
  }
  observe(observation);

  const bool reached = std::hypot(position_[0] - goal_[0], position_[1] - goal_[1]) <= radius_;
  const bool lost = ground_.is_lost && ground_.is_lost(position_[0], position_[1]);
  return {.reward = reached ? 100.0 : 0.0, .terminated = reached || lost, .success = reached};
}

bool Plane::disturb(double scale, Random& random, std::span<double> observation) {
  for (double& x : position_)
    x = std::clamp(x + scale * random.normal(), -half_width_, half_width_);
  observe(observation);
  return true;
}

std::optional<double> Plane::coordinate(const std::string& name) const {
  if (name == "x") return position_[0];
  if (name == "y") return position_[1];
  return std::nullopt;
}

Signals Plane::signals() const {
  return {.observation = {{"x", ""}, {"y", ""}},
          .action = {{"direction", fmt::format("{:.6g} rad", ground_.angle)}, {"distance", ""}}};
}

void Plane::check_inside(const OptionValues& options, const char* name) const {
  const std::vector<double>& point = options.list(name);
  if (std::ranges::all_of(point, [&](double x) { return std::abs(x) <= half_width_; })) return;
  throw OptionError(fmt::format("task.{}", name), point,
                    fmt::format("must lie in the square, from {0} to {1} (task.half_width = {1})",
                                -half_width_, half_width_));
}

void Plane::observe(std::span<double> observation) const {
  std::ranges::copy(position_, observation.begin());
}

StateMap plane_map(const OptionValues& options, Ground ground) {
  const double half_width = options.number("half_width");
  StateMap map;
  map.low = {-half_width, -half_width};
  map.high = {half_width, half_width};
  map.start = point(options.list("start"));
  map.goal = point(options.list("goal"));
  map.goal_radius = options.number("radius");
  map.noise = std::move(ground.noise);
  map.action_names = {"direction", "distance"};
  return map;
}

}  // namespace

Option list_option(const char* name, const char* help, double low, double high,
                   const std::vector<double>& standard) {
  Option option = number(name, help, low, high, standard);
  option.length = static_cast<int>(standard.size());
  return option;
}

Task plane_task(const char* name, const char* summary, const std::vector<double>& start,
                const std::vector<double>& goal, std::vector<Option> options,
                Ground (*ground)(const OptionValues&)) {
  Task task;
  task.name = name;
  task.summary = summary;
  task.horizon = 100;
  task.has_goal = true;
  task.options = {
      number("half_width", "half the side of the square", 1e-3, 1e6, 10.0),
      number("step", "longest move of one step", 1e-6, 1e6, 0.2),
      list_option("start", "where an episode starts", -1e6, 1e6, start),
      list_option("goal", "centre of the goal", -1e6, 1e6, goal),
      number("radius", "radius of the goal", 1e-6, 1e6, 1.0),
  };
  std::ranges::move(options, std::back_inserter(task.options));
  task.make = [ground](const OptionValues& values) {
    return std::make_unique<Plane>(values, ground(values));
  };
  task.map = [ground](const OptionValues& values) { return plane_map(values, ground(values)); };
  // for td3, because the reward is sparse: keep actions away from the corners of the action space,
  // and explore with correlated noise, which covers more distance
  task.brings = {{"td3.noise", 0.5}, {"td3.correlation", 0.9}, {"td3.penalty", 1e-3}};
  return task;
}

}  // namespace ovde
