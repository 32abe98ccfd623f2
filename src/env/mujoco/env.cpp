#include "env/mujoco/task.h"

#include <algorithm>
#include <cmath>
#include <numbers>

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

}  // namespace

std::string name_of(const mjModel& m, int type, const char* kind, int number) {
  const char* const name = mj_id2name(&m, type, number);
  return name != nullptr && *name != 0 ? name : fmt::format("{}_{}", kind, number);
}

std::vector<Signal> parts(const std::string& name, int size, const std::string& unit,
                          const std::string& end) {
  static const char* const axes[] = {"_x", "_y", "_z"};
  static const char* const quaternion[] = {"_qw", "_qx", "_qy", "_qz"};
  std::vector<Signal> all;
  for (int i = 0; i < size; ++i) {
    const std::string part = size == 1   ? ""
                             : size == 3 ? axes[i]
                             : size == 4 ? quaternion[i]
                                         : fmt::format("_{}", i);
    all.push_back({name + part + end, unit});
  }
  return all;
}

StateSignals state_signals(const mjModel& m) {
  StateSignals all;
  const auto add = [](std::vector<Signal>& to, const std::vector<Signal>& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  for (int i = 0; i < m.njnt; ++i) {
    const std::string name = name_of(m, mjOBJ_JOINT, "joint", i);
    switch (m.jnt_type[i]) {
      case mjJNT_FREE:
        add(all.positions, parts(name, 3, "m"));
        add(all.velocities, parts(name, 3, "m/s", "_velocity"));
        [[fallthrough]];
      case mjJNT_BALL:
        add(all.positions, parts(name, 4, ""));
        add(all.velocities, parts(name, 3, "rad/s", "_angular_velocity"));
        break;
      case mjJNT_SLIDE:
        add(all.positions, parts(name, 1, "m"));
        add(all.velocities, parts(name, 1, "m/s", "_velocity"));
        break;
      default:
        add(all.positions, parts(name, 1, "rad"));
        add(all.velocities, parts(name, 1, "rad/s", "_velocity"));
    }
  }
  return all;
}

std::vector<Signal> control_signals(const mjModel& m) {
  std::vector<Signal> all;
  for (int i = 0; i < m.nu; ++i) {
    const double* const gain = m.actuator_gainprm + i * mjNGAIN;
    const double* const bias = m.actuator_biasprm + i * mjNBIAS;
    const int transmission = m.actuator_trntype[i];
    const bool joint = transmission == mjTRN_JOINT || transmission == mjTRN_JOINTINPARENT;
    const bool slide = joint && m.jnt_type[m.actuator_trnid[2 * i]] == mjJNT_SLIDE;
    const std::string position = slide ? "m" : "rad";
    const bool affine = m.actuator_biastype[i] == mjBIAS_AFFINE && gain[0] != 0;
    double size = 1;
    std::string unit;
    if (joint && affine && bias[1] == -gain[0]) {  // position servo
      unit = position;
    } else if (joint && affine && bias[1] == 0 && bias[2] == -gain[0]) {  // velocity servo
      unit = position + "/s";
    } else if (joint && !affine) {
      size = m.actuator_gear[6 * i] * gain[0];
      unit = slide ? "N" : "N m";
    }
    all.push_back({name_of(m, mjOBJ_ACTUATOR, "actuator", i),
                   size == 1 ? unit : fmt::format("{} {}", size, unit)});
  }
  return all;
}

namespace {

// A body and the horizontal axes along which it can move.
struct PushableBody {
  int number;
  std::string name;
  bool x, y;
};

// The bodies that can move horizontally. Moves all joints a little from qpos0 first, where
// a body may happen to move vertically only.
std::vector<PushableBody> pushable(const mjModel& m) {
  const DataPointer d = make_data(m);
  const std::vector<double> motion(m.nv, 1.0);
  mj_integratePos(&m, d->qpos, motion.data(), 0.1);
  mj_kinematics(&m, d.get());
  mj_comPos(&m, d.get());
  std::vector<double> jacobian(3 * m.nv);
  std::vector<PushableBody> all;
  for (int body = 1; body < m.nbody; ++body) {
    mj_jacBodyCom(&m, d.get(), jacobian.data(), nullptr, body);
    const auto moves = [&](int axis) {
      const auto row = std::span(jacobian).subspan(axis * m.nv, m.nv);
      return std::ranges::any_of(row, [](double x) { return std::abs(x) > 1e-9; });
    };
    const char* const name = mj_id2name(&m, mjOBJ_BODY, body);
    if (moves(0) || moves(1))
      all.push_back({body, name ? name : fmt::format("body{}", body), moves(0), moves(1)});
  }
  return all;
}

class MujocoEnv final : public Env,
                        public Restorable,
                        public Disturbable,
                        public Physical,
                        public Drawable,
                        public RewardTerms {
 public:
  explicit MujocoEnv(const MujocoTask& task)
      : task_(task),
        simulation_(task.make_simulation()),
        rules_(task.make_rules()),
        action_space_(task.actions ? *task.actions : control_box(simulation_.model())),
        state_(state_signals(simulation_.model())),
        action_(action_space_.low.size()),
        position_change_(simulation_.v().size()),
        velocity_change_(simulation_.v().size()) {
    check_numbers(mjOBJ_BODY, task.bodies);
    check_numbers(mjOBJ_SITE, task.sites);
    if (task.rules && task.position_spread.empty()) {
      task_.position_spread.resize(simulation_.v().size());
      task_.velocity_spread.resize(simulation_.v().size());
    }
    if (task_.position_spread.size() != simulation_.v().size() ||
        task_.velocity_spread.size() != simulation_.v().size()) {
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
      rules_->start(q, v, random);
    });
  }

  bool set_state(std::span<const double> position, std::span<const double> velocity,
                 std::span<double> observation) override {
    if (position.size() != simulation_.q().size() || velocity.size() != simulation_.v().size()) {
      throw InputError(fmt::format("{} has {} positions and {} velocities; got {} and {}",
                                   task_.id(), simulation_.q().size(), simulation_.v().size(),
                                   position.size(), velocity.size()));
    }
    seed_ = 0;
    begin(observation, [&](std::span<double> q, std::span<double> v) {
      Random random(seed_, Stream::environment);
      rules_->start(q, v, random);
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
    with_context([&] { result = rules_->step(simulation_, action_); });
    rules_->observe(simulation_, observation);
    return result;
  }

  bool disturb(double scale, Random& random, std::span<double> observation) override {
    return change_state([scale] { return scale; }, random, observation);
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
    return change_state([scale = scales.begin()]() mutable { return *scale++; }, random,
                        observation);
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

  void vary(const ModelFactors& factors) override {
    with_context([&] { simulation_.vary(factors); });
  }

  std::vector<std::string> pushable_bodies() override {
    if (pushable_.empty()) pushable_ = pushable(simulation_.model());
    std::vector<std::string> names;
    for (const PushableBody& body : pushable_) names.push_back(body.name);
    return names;
  }

  void push(int number, double velocity, Random& random) override {
    const PushableBody& body = pushable_.at(number);
    const double angle = 2 * std::numbers::pi * random.uniform();
    // a body that moves along one axis only is pushed forwards or backwards
    const double sign = angle < std::numbers::pi ? 1 : -1;
    std::array<double, 3> direction = {std::cos(angle), std::sin(angle), 0};
    if (!body.y) direction = {sign, 0, 0};
    if (!body.x) direction = {0, sign, 0};
    const mjModel& m = simulation_.model();
    const double mass = m.body_subtreemass[m.body_rootid[body.number]];
    for (double& x : direction) x *= mass * velocity;
    simulation_.push_body(body.number, direction);
  }

  Signals signals() const override {
    Signals all{.observation = {},
                .action = task_.rules ? task_.controls : control_signals(simulation_.model()),
                .rate = 1 / simulation_.seconds_per_action()};
    if (!task_.rules && (task_.observe == nullptr || task_.first_position > 0)) {
      const auto& [positions, velocities] = state_;
      all.observation.assign(positions.begin() + task_.first_position, positions.end());
      all.observation.insert(all.observation.end(), velocities.begin(), velocities.end());
    }
    all.observation.insert(all.observation.end(), task_.observed.begin(), task_.observed.end());
    return all;
  }

  std::optional<Bytes> save() const override { return save_members(*this); }

  bool restore(std::span<const std::byte> bytes) override {
    restore_members(bytes, *this);
    return true;
  }

  void archive(Archive& archive) {
    archive(seed_, steps_, simulation_);
    rules_->archive(archive, simulation_);
  }

  std::span<const RewardTerm> reward_terms() const override { return rules_->reward_terms(); }

  std::vector<Solid> solids() const override { return drawn_solids(simulation_.model()); }
  std::vector<Pose> poses() const override { return poses_.read(simulation_); }

 private:
  template <typename Place>
  void begin(std::span<double> observation, Place place) {
    steps_ = 0;
    with_context([&] { simulation_.start(place); });
    rules_->observe(simulation_, observation);
  }

  // Adds next_scale() * N(0, 1) to each coordinate.
  template <typename NextScale>
  bool change_state(NextScale next_scale, Random& random, std::span<double> observation) {
    for (double& x : position_change_) x = next_scale() * random.normal();
    for (double& x : velocity_change_) x = next_scale() * random.normal();
    with_context([&] { simulation_.push(position_change_, velocity_change_); });
    rules_->observe(simulation_, observation);
    return true;
  }

  // Adds step and seed to an error, and the task to one that does not name it.
  template <typename Function>
  void with_context(Function function) {
    try {
      function();
    } catch (const InputError& error) {  // an error in the task's rules
      throw InputError(fmt::format("{}, in {}", error.what(), step_of_episode()));
    } catch (const Error& error) {
      throw Error(fmt::format("{}, {}: MuJoCo: {}", task_.id(), step_of_episode(), error.what()));
    }
  }

  std::string step_of_episode() const {
    return fmt::format("step {} of the episode with seed {}", steps_, seed_);
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
  std::unique_ptr<MujocoRules> rules_;
  Box action_space_;
  StateSignals state_;

  std::uint64_t seed_ = 0;
  std::int64_t steps_ = 0;  // in this episode
  std::vector<double> action_, position_change_, velocity_change_;
  std::vector<PushableBody> pushable_;  // empty until asked for
  mutable GeomPoses poses_;
};

}  // namespace

std::unique_ptr<Env> make_mujoco_env(const MujocoTask& task) {
  return std::make_unique<MujocoEnv>(task);
}

}  // namespace ovde
