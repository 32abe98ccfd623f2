#include "env/mujoco/task.h"

#include <cmath>

#include "env/mujoco/model.h"

namespace ovde {

namespace {

// The constants and functions of a built-in task.
class BuiltInRules final : public MujocoRules {
 public:
  explicit BuiltInRules(const MujocoTask& task) : task_(task) {}

  void start(std::span<double> q, std::span<double> v, Random& random) override {
    if (task_.start != nullptr) return task_.start(q, v, random);
    add_uniform(q, task_.start_noise, random);
    task_.normal_velocities ? add_normal(v, task_.start_noise, random)
                            : add_uniform(v, task_.start_noise, random);
  }
  Step step(Simulation& simulation, std::span<const double> action) override {
    return task_.step(simulation, action);
  }
  void observe(const Simulation& s, std::span<double> observation) override {
    if (task_.observe != nullptr) return task_.observe(s, observation);
    const Out out = write(s.q().subspan(task_.first_position), observation.begin());
    write_clipped(s.v(), task_.velocity_limit, out);
  }

 private:
  MujocoTask task_;
};

}  // namespace

Simulation MujocoTask::make_simulation() const {
  return {loaded_model ? loaded_model : shared_model(model),
          frame_skip,
          {.forces = reads_forces, .sensors = reads_sensors}};
}

std::unique_ptr<MujocoRules> MujocoTask::make_rules() const {
  return rules ? rules() : std::make_unique<BuiltInRules>(*this);
}

double sum_of_squares(std::span<const double> values) {
  double sum = 0;
  for (const double x : values) sum += x * x;
  return sum;
}

double distance(std::span<const double, 3> a, std::span<const double, 3> b) {
  return std::sqrt(square(a[0] - b[0]) + square(a[1] - b[1]) + square(a[2] - b[2]));
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
