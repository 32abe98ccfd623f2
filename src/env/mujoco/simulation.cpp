#include "env/mujoco/simulation.h"

#include <algorithm>
#include <type_traits>

#include "env/mujoco/guard.h"
#include "env/mujoco/model.h"

namespace ovde {

static_assert(std::is_same_v<mjtNum, double>, "MuJoCo must be built in double precision");

namespace {
// MuJoCo's sizes are int or 64 bit, depending on its version.
std::size_t count(auto size) { return static_cast<std::size_t>(size); }
}  // namespace

Simulation::Simulation(const std::string& model, int frame_skip)
    : model_(shared_model(model)), frame_skip_(frame_skip) {
  mjData* data = nullptr;
  guarded([&] { data = mj_makeData(model_.get()); });
  if (data == nullptr) throw Error("MuJoCo: out of memory");
  data_.reset(data);
}

// Calls into the engine. What it left behind after trouble is not to be built upon, its stack
// included.
template <typename Calls>
void Simulation::engine(Calls calls) {
  try {
    guarded(calls);
  } catch (const Error&) {
    mj_resetData(model_.get(), data_.get());
    throw;
  }
}

// Every input of mj_forward, and no more: mj_resetData would also clear some 3 MB of results that
// mj_forward overwrites, which costs as much as two steps.
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
  d.time = 0;
}

void Simulation::settle() {
  engine([this] {
    // newer versions no longer do this inside mj_forward
    mj_normalizeQuat(model_.get(), data_->qpos);
    mj_forward(model_.get(), data_.get());
  });
}

void Simulation::advance(std::span<const double> action) {
  std::copy(action.begin(), action.end(), data_->ctrl);
  // Gymnasium ends this with mj_rnePostConstraint, which fills in contact forces that none of the
  // tasks reads
  engine([this] {
    for (int i = 0; i < frame_skip_; ++i) mj_step(model_.get(), data_.get());
  });
}

void Simulation::push(std::span<const double> position, std::span<const double> velocity) {
  std::transform(velocity.begin(), velocity.end(), data_->qvel, data_->qvel, std::plus<>());
  engine([this, position] {
    mj_integratePos(model_.get(), data_->qpos, position.data(), 1);
    mj_normalizeQuat(model_.get(), data_->qpos);
    mj_kinematics(model_.get(), data_.get());
  });
}

template <typename Visit>
void Simulation::visit_state(Visit visit) const {
  const mjModel& m = *model_;
  mjData& d = *data_;
  visit(std::span(&d.time, 1));
  visit(std::span(d.qpos, count(m.nq)));
  visit(std::span(d.qvel, count(m.nv)));
  visit(std::span(d.act, count(m.na)));
  visit(std::span(d.ctrl, count(m.nu)));
  // where the solver starts from: without it the next step converges to other last bits
  visit(std::span(d.qacc_warmstart, count(m.nv)));
  // results of the last step that rewards and observations read before the next
  visit(std::span(d.xpos, count(m.nbody) * 3));
  visit(std::span(d.site_xpos, count(m.nsite) * 3));
  visit(std::span(d.qfrc_constraint, count(m.nv)));
}

void Simulation::save(ByteWriter& out) const {
  visit_state([&](std::span<double> part) { out.put_all(std::span<const double>(part)); });
}

void Simulation::restore(ByteReader& in) {
  visit_state([&](std::span<double> part) { in.get_all(part); });
}

}  // namespace ovde
