#include "env/mujoco/simulation.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "env/mujoco/guard.h"

namespace ovde {

static_assert(std::is_same_v<mjtNum, double>, "MuJoCo must be built in double precision");

namespace {
// MuJoCo's sizes are int or 64 bit, depending on its version.
std::size_t count(auto size) { return static_cast<std::size_t>(size); }
}  // namespace

DataPointer make_data(const mjModel& model) {
  mjData* data = nullptr;
  guarded([&] { data = mj_makeData(&model); });
  if (data == nullptr) throw Error("MuJoCo: out of memory");
  return DataPointer(data);
}

Simulation::Simulation(std::shared_ptr<const mjModel> model, int frame_skip, Reads reads)
    : nominal_(std::move(model)),
      model_(nominal_),
      data_(make_data(*model_)),
      frame_skip_(frame_skip),
      reads_(reads) {}

// Calls the engine; resets its data, stack included, after an error.
template <typename Calls>
void Simulation::engine(Calls calls) {
  try {
    guarded(calls);
  } catch (const Error&) {
    mj_resetData(model_.get(), data_.get());
    throw;
  }
}

// Sets the inputs of mj_forward only: mj_resetData would also clear 3 MB of results that mj_forward
// overwrites, which costs as much as two steps.
void Simulation::clear() {
  const mjModel& m = *model_;
  mjData& d = *data_;
  std::copy_n(m.qpos0, m.nq, d.qpos);
  std::fill_n(d.qvel, m.nv, 0.0);
  std::fill_n(d.act, m.na, 0.0);
  std::fill_n(d.ctrl, m.nu, 0.0);
  std::fill_n(d.qacc_warmstart, m.nv, 0.0);
  std::fill_n(d.qfrc_applied, m.nv, 0.0);
  std::fill_n(d.xfrc_applied, 6 * m.nbody, 0.0);
  std::fill_n(d.cfrc_ext, 6 * m.nbody, 0.0);  // not computed by mj_forward
  d.time = 0;
}

void Simulation::settle() {
  engine([this] {
    // newer versions no longer normalise inside mj_forward
    mj_normalizeQuat(model_.get(), data_->qpos);
    mj_forward(model_.get(), data_.get());
  });
}

void Simulation::advance(std::span<const double> action) {
  std::copy(action.begin(), action.end(), data_->ctrl);
  engine([this] {
    for (int i = 0; i < frame_skip_; ++i) mj_step(model_.get(), data_.get());
    if (reads_.forces) mj_rnePostConstraint(model_.get(), data_.get());
  });
  if (pushed_ == 0) return;
  std::fill_n(data_->xfrc_applied + 6 * pushed_, 6, 0.0);
  pushed_ = 0;
}

void Simulation::vary(const ModelFactors& factors) {
  const mjModel& from = *nominal_;
  if (!varied_) {
    mjModel* copy = nullptr;
    guarded([&] { copy = mj_copyModel(nullptr, &from); });
    varied_ = std::shared_ptr<mjModel>(copy, mj_deleteModel);
    model_ = varied_;
  }
  mjModel& to = *varied_;
  const auto scale = [](double* out, const double* in, auto size, double factor) {
    std::transform(in, in + size, out, [=](double x) { return factor * x; });
  };
  scale(to.body_mass, from.body_mass, from.nbody, factors.mass);
  scale(to.body_inertia, from.body_inertia, 3 * from.nbody, factors.mass);
  scale(to.geom_friction, from.geom_friction, 3 * from.ngeom, factors.friction);
  scale(to.pair_friction, from.pair_friction, 5 * from.npair, factors.friction);
  scale(to.dof_damping, from.dof_damping, from.nv, factors.damping);
  scale(to.opt.gravity, from.opt.gravity, 3, factors.gravity);
  // a position servo has its stiffness in both
  scale(to.actuator_gainprm, from.actuator_gainprm, mjNGAIN * from.nu, factors.motor);
  scale(to.actuator_biasprm, from.actuator_biasprm, mjNBIAS * from.nu, factors.motor);
  engine([&] { mj_setConst(&to, data_.get()); });
}

void Simulation::push_body(int number, const std::array<double, 3>& impulse) {
  pushed_ = number;
  std::ranges::transform(impulse, data_->xfrc_applied + 6 * number,
                         [&](double x) { return x / seconds_per_action(); });
}

void Simulation::push(std::span<const double> position, std::span<const double> velocity) {
  std::transform(velocity.begin(), velocity.end(), data_->qvel, data_->qvel, std::plus<>());
  engine([this, position] {
    mj_integratePos(model_.get(), data_->qpos, position.data(), 1);
    mj_normalizeQuat(model_.get(), data_->qpos);
    mj_kinematics(model_.get(), data_.get());
    if (!reads_.forces && !reads_.sensors) return;
    mj_comPos(model_.get(), data_.get());
    mj_comVel(model_.get(), data_.get());
    if (!reads_.sensors) return;
    mj_sensorPos(model_.get(), data_.get());
    mj_sensorVel(model_.get(), data_.get());
  });
}

void Simulation::archive(Archive& archive) {
  const mjModel& m = *model_;
  mjData& d = *data_;
  archive(std::span(&d.time, 1));
  archive(std::span(d.qpos, count(m.nq)));
  archive(std::span(d.qvel, count(m.nv)));
  archive(std::span(d.act, count(m.na)));
  archive(std::span(d.ctrl, count(m.nu)));
  // without the solver's warm start the next step would differ in its last bits
  archive(std::span(d.qacc_warmstart, count(m.nv)));
  // results of the last step that rewards and observations read
  archive(std::span(d.xpos, count(m.nbody) * 3));
  archive(std::span(d.site_xpos, count(m.nsite) * 3));
  archive(std::span(d.qfrc_constraint, count(m.nv)));
  if (!reads_.forces) return;
  archive(std::span(d.xipos, count(m.nbody) * 3));
  archive(std::span(d.cinert, count(m.nbody) * 10));
  archive(std::span(d.cvel, count(m.nbody) * 6));
  archive(std::span(d.qfrc_actuator, count(m.nv)));
  archive(std::span(d.cfrc_ext, count(m.nbody) * 6));
}

}  // namespace ovde
