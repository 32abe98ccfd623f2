#include "env/plane.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ovde {

namespace {

std::array<double, 2> pair(const std::vector<double>& list) { return {list[0], list[1]}; }

}  // namespace

Plane::Plane(const OptionValues& options, double angle)
    : half_width_(options.number("half_width")),
      step_(options.number("step")),
      radius_(options.number("radius")),
      angle_(angle),
      start_(pair(options.list("start"))),
      goal_(pair(options.list("goal"))) {
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
  const double deviation = noise(position_);
  const double angle = angle_ * action[0];
  const double distance = obeys(position_) ? step_ * (action[1] + 1) / 2 : 0;
  const Point move = {distance * std::cos(angle), distance * std::sin(angle)};
  for (int i = 0; i < 2; ++i) {
    const double next = position_[i] + move[i] + deviation * random_.normal();
    position_[i] = std::clamp(next, -half_width_, half_width_);
  }
  observe(observation);

  const bool reached = std::hypot(position_[0] - goal_[0], position_[1] - goal_[1]) <= radius_;
  return {.reward = reached ? 100.0 : 0.0,
          .terminated = reached || is_lost(position_),
          .success = reached};
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
          .action = {{"direction", fmt::format("{:.6g} rad", angle_)}, {"distance", ""}}};
}

std::optional<Bytes> Plane::save() const {
  ByteWriter out;
  out.put(seed_);
  out.put(random_.position());
  out.put(position_);
  return out.take();
}

bool Plane::restore(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  seed_ = in.get<std::uint64_t>();
  random_ = Random(seed_, Stream::environment);
  random_.seek(in.get<std::uint64_t>());
  position_ = in.get<Point>();
  return true;
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

Option list_option(const char* name, const char* help, double low, double high,
                   const std::vector<double>& standard) {
  Option option = number(name, help, low, high, standard);
  option.length = static_cast<int>(standard.size());
  return option;
}

std::vector<Option> plane_options(const std::vector<double>& start,
                                  const std::vector<double>& goal) {
  return {
      number("half_width", "half the side of the square", 1e-3, 1e6, 10.0),
      number("step", "longest move of one step", 1e-6, 1e6, 0.2),
      list_option("start", "where an episode starts", -1e6, 1e6, start),
      list_option("goal", "centre of the goal", -1e6, 1e6, goal),
      number("radius", "radius of the goal", 1e-6, 1e6, 1.0),
  };
}

StateMap plane_map(const OptionValues& options) {
  const double half_width = options.number("half_width");
  StateMap map;
  map.low = {-half_width, -half_width};
  map.high = {half_width, half_width};
  map.start = pair(options.list("start"));
  map.goal = pair(options.list("goal"));
  map.goal_radius = options.number("radius");
  map.action_names = {"direction", "distance"};
  return map;
}

}  // namespace ovde
