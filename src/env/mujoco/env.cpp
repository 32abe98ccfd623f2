#include "env/mujoco/task.h"

#include <algorithm>

#include <fmt/format.h>

#include <ovde/error.h>
#include "env/mujoco/drawing.h"

namespace ovde {

namespace {

Box control_box(const mjModel& m) {
  Box box;
  for (int i = 0; i < m.nu; ++i) {
    box.low.push_back(m.actuator_ctrlrange[2 * i]);
    box.high.push_back(m.actuator_ctrlrange[2 * i + 1]);
  }
  return box;
}

// Names and units of all positions and velocities: "<joint>" and "<joint>_velocity"; for a free
// joint "<joint>_x", "_qw" and so on.
struct StateSignals {
  std::vector<Signal> positions, velocities;
};

StateSignals state_signals(const mjModel& m) {
  StateSignals all;
  for (int i = 0; i < m.njnt; ++i) {
    const std::string name = mj_id2name(&m, mjOBJ_JOINT, i);
    if (m.jnt_type[i] == mjJNT_FREE) {
      for (const char* axis : {"_x", "_y", "_z"}) all.positions.push_back({name + axis, "m"});
      for (const char* part : {"_qw", "_qx", "_qy", "_qz"})
        all.positions.push_back({name + part, ""});
      for (const char* axis : {"_x", "_y", "_z"})
        all.velocities.push_back({name + axis + "_velocity", "m/s"});
      for (const char* axis : {"_x", "_y", "_z"})
        all.velocities.push_back({name + axis + "_angular_velocity", "rad/s"});
    } else {
      const std::string unit = m.jnt_type[i] == mjJNT_SLIDE ? "m" : "rad";
      all.positions.push_back({name, unit});
      all.velocities.push_back({name + "_velocity", unit + "/s"});
    }
  }
  return all;
}

// The motors; the unit is the force or torque of a control of 1.
std::vector<Signal> control_signals(const mjModel& m) {
  std::vector<Signal> all;
  for (int i = 0; i < m.nu; ++i) {
    const double gear = m.actuator_gear[6 * i];
    const bool slide = m.jnt_type[m.actuator_trnid[2 * i]] == mjJNT_SLIDE;
    const std::string unit = slide ? "N" : "N m";
    all.push_back(
        {mj_id2name(&m, mjOBJ_ACTUATOR, i), gear == 1 ? unit : fmt::format("{} {}", gear, unit)});
  }
  return all;
}

class MujocoEnv final : public Env, public Restorable, public Disturbable, public Drawable {
 public:
  explicit MujocoEnv(const MujocoTask& task)
      : task_(task),
        simulation_(task.model, task.frame_skip, task.reads_forces),
        action_space_(control_box(simulation_.model())),
        state_(state_signals(simulation_.model())),
        action_(action_space_.low.size()),
        position_push_(simulation_.v().size()),
        velocity_push_(simulation_.v().size()) {
    check_numbers(mjOBJ_BODY, task.bodies);
    check_numbers(mjOBJ_SITE, task.sites);
    if (task.position_spread.size() != simulation_.v().size() ||
        task.velocity_spread.size() != simulation_.v().size()) {
      throw Error(fmt::format("task {} needs {} spreads of positions and of velocities", task.name,
                              simulation_.v().size()));
    }
  }

  int observation_size() const override { return task_.observation_size; }
  const Box& action_space() const override { return action_space_; }

  void reset(std::uint64_t seed, std::span<double> observation) override {
    seed_ = seed;
    begin(observation, [&](std::span<double> q, std::span<double> v) {
      Random random(seed, Stream::environment);
      task_.draw_start(q, v, random);
    });
  }

  bool set_state(std::span<const double> position, std::span<const double> velocity,
                 std::span<double> observation) override {
    if (position.size() != simulation_.q().size() || velocity.size() != simulation_.v().size()) {
      throw InputError(fmt::format("{}-v4 has {} positions and {} velocities; got {} and {}",
                                   task_.name, simulation_.q().size(), simulation_.v().size(),
                                   position.size(), velocity.size()));
    }
    seed_ = 0;
    begin(observation, [&](std::span<double> q, std::span<double> v) {
      std::ranges::copy(position, q.begin());
      std::ranges::copy(velocity, v.begin());
    });
    return true;
  }

  Step step(std::span<const double> action, std::span<double> observation) override {
    // MuJoCo clips controls too; the control cost must use the clipped action
    for (std::size_t i = 0; i < action_.size(); ++i) {
      action_[i] = std::clamp(action[i], action_space_.low[i], action_space_.high[i]);
    }
    ++steps_;
    Step result;
    with_context([&] { result = task_.step(simulation_, action_); });
    task_.write_observation(simulation_, observation);
    return result;
  }

  bool disturb(double scale, Random& random, std::span<double> observation) override {
    for (double& x : position_push_) x = scale * random.normal();
    for (double& x : velocity_push_) x = scale * random.normal();
    push(observation);
    return true;
  }

  // positions in their tangent space, then velocities
  std::vector<StateCoordinate> disturbables() const override {
    std::vector<StateCoordinate> all;
    for (const double spread : task_.position_spread) all.push_back({.spread = spread});
    for (const double spread : task_.velocity_spread)
      all.push_back({.velocity = true, .spread = spread});
    return all;
  }

  bool disturb_each(std::span<const double> scales, Random& random,
                    std::span<double> observation) override {
    auto scale = scales.begin();
    for (double& x : position_push_) x = *scale++ * random.normal();
    for (double& x : velocity_push_) x = *scale++ * random.normal();
    push(observation);
    return true;
  }

  std::optional<double> coordinate(const std::string& name) const override {
    const auto find = [&](const std::vector<Signal>& names,
                          std::span<const double> values) -> std::optional<double> {
      const auto found = std::ranges::find(names, name, &Signal::name);
      return found == names.end() ? std::nullopt : std::optional(values[found - names.begin()]);
    };
    const auto position = find(state_.positions, simulation_.q());
    return position ? position : find(state_.velocities, simulation_.v());
  }
  std::vector<std::string> coordinates() const override {
    std::vector<std::string> names;
    for (const Signal& signal : state_.positions) names.push_back(signal.name);
    for (const Signal& signal : state_.velocities) names.push_back(signal.name);
    return names;
  }

  Signals signals() const override {
    Signals all{.observation = {},
                .action = control_signals(simulation_.model()),
                .rate = 1 / simulation_.seconds_per_action()};
    if (task_.observe == nullptr || task_.first_position > 0) {
      const auto& [positions, velocities] = state_;
      all.observation.assign(positions.begin() + task_.first_position, positions.end());
      all.observation.insert(all.observation.end(), velocities.begin(), velocities.end());
    }
    all.observation.insert(all.observation.end(), task_.observed.begin(), task_.observed.end());
    return all;
  }

  std::optional<Bytes> save() const override {
    ByteWriter out;
    out.put(seed_);
    out.put(steps_);
    simulation_.save(out);
    return out.take();
  }

  bool restore(std::span<const std::byte> bytes) override {
    ByteReader in(bytes);
    seed_ = in.get<std::uint64_t>();
    steps_ = in.get<std::int64_t>();
    simulation_.restore(in);
    return true;
  }

  std::vector<Solid> solids() const override { return drawn_solids(simulation_.model()); }
  std::vector<Pose> poses() const override { return poses_.read(simulation_); }

 private:
  template <typename Place>
  void begin(std::span<double> observation, Place place) {
    steps_ = 0;
    with_context([&] { simulation_.start(place); });
    task_.write_observation(simulation_, observation);
  }

  void push(std::span<double> observation) {
    with_context([&] { simulation_.push(position_push_, velocity_push_); });
    task_.write_observation(simulation_, observation);
  }

  // Adds task, seed and step to an error.
  template <typename Function>
  void with_context(Function function) {
    try {
      function();
    } catch (const Error& error) {
      throw Error(fmt::format("{}-v4, seed {}, step {}: MuJoCo: {}", task_.name, seed_, steps_,
                              error.what()));
    }
  }

  void check_numbers(int type, const std::vector<std::pair<std::string, int>>& names) const {
    for (const auto& [name, number] : names) {
      if (mj_name2id(&simulation_.model(), type, name.c_str()) != number) {
        throw Error(
            fmt::format("model '{}' does not have '{}' as number {}", task_.model, name, number));
      }
    }
  }

  MujocoTask task_;
  Simulation simulation_;
  Box action_space_;
  StateSignals state_;

  std::uint64_t seed_ = 0;
  std::int64_t steps_ = 0;  // in this episode
  std::vector<double> action_, position_push_, velocity_push_;
  mutable GeomPoses poses_;
};

}  // namespace

std::unique_ptr<Env> make_mujoco_env(const MujocoTask& task) {
  return std::make_unique<MujocoEnv>(task);
}

}  // namespace ovde
