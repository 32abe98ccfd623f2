#include "env/mujoco/task.h"

#include <algorithm>
#include <cmath>

namespace ovde {

double sum_of_squares(std::span<const double> values) {
  double sum = 0;
  for (const double x : values) sum += x * x;
  return sum;
}

double distance(std::span<const double, 3> a, std::span<const double, 3> b) {
  return std::sqrt(square(a[0] - b[0]) + square(a[1] - b[1]) + square(a[2] - b[2]));
}

double advance_along_x(Simulation& simulation, std::span<const double> action) {
  const double before = simulation.q()[0];
  simulation.advance(action);
  return (simulation.q()[0] - before) / simulation.seconds_per_action();
}

void add_uniform(std::span<double> values, double half_width, Random& random) {
  for (double& x : values) x += random.uniform(-half_width, half_width);
}

void add_normal(std::span<double> values, double deviation, Random& random) {
  for (double& x : values) x += deviation * random.normal();
}

Out write(std::span<const double> values, Out out) { return std::ranges::copy(values, out).out; }

Out write_clipped(std::span<const double> values, double limit, Out out) {
  return std::ranges::transform(values, out, [=](double x) { return std::clamp(x, -limit, limit); })
      .out;
}

}  // namespace ovde
