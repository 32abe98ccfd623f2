// A MuJoCo simulation: a constant model, which is shared until it is varied, and its own data.
// Knows nothing of rewards or observations. Warnings and errors of MuJoCo are thrown as Error,
// after which the simulation must be started again.
#pragma once

#include <array>
#include <memory>
#include <span>

#include <mujoco/mujoco.h>

#include <ovde/env.h>
#include "base/archive.h"

namespace ovde {

struct DeleteData {
  void operator()(mjData* data) const { mj_deleteData(data); }
};
using DataPointer = std::unique_ptr<mjData, DeleteData>;
DataPointer make_data(const mjModel& model);

class Simulation {
 public:
  // Results of the engine that a task reads besides positions.
  struct Reads {
    bool forces = false;   // contact forces and inertias: computed after each action, and saved
    bool sensors = false;  // sensors and velocities of bodies: updated by push()
  };
  // One action lasts for `frame_skip` steps of the engine.
  Simulation(std::shared_ptr<const mjModel> model, int frame_skip, Reads reads);

  const mjModel& model() const { return *model_; }
  const mjData& data() const { return *data_; }
  double seconds_per_action() const { return frame_skip_ * model_->opt.timestep; }

  // Positions, velocities, and the positions of bodies and sites. The latter are from the last
  // evaluation *inside* the last step and thus older than q, as Gymnasium reads them too.
  std::span<const double> q() const { return {data_->qpos, static_cast<std::size_t>(model_->nq)}; }
  std::span<const double> v() const { return {data_->qvel, static_cast<std::size_t>(model_->nv)}; }
  std::span<const double, 3> body(int number) const { return vector(data_->xpos, number); }
  std::span<const double, 3> site(int number) const { return vector(data_->site_xpos, number); }

  // Starts at qpos0 and velocity 0, which `place` may overwrite.
  template <typename Place>
  void start(Place place) {
    clear();
    place(std::span<double>{data_->qpos, q().size()}, std::span<double>{data_->qvel, v().size()});
    settle();
  }

  void advance(std::span<const double> action);

  // Multiplies the nominal values of the model, in a copy of its own. The data must be started or
  // restored next.
  void vary(const ModelFactors& factors);

  // Pushes a body during the next advance() with a constant force of this impulse in N s.
  void push_body(int number, const std::array<double, 3>& impulse);

  // Adds to velocities, and to positions in their tangent space (quaternions stay valid), both of
  // size nv; then updates the positions of bodies and sites.
  void push(std::span<const double> position, std::span<const double> velocity);

  // Everything that the next step, rewards and observations depend on.
  void archive(Archive& archive);

 private:
  static std::span<const double, 3> vector(const double* all, int number) {
    return std::span<const double, 3>(all + 3 * number, 3);
  }
  void clear();
  void settle();
  template <typename Calls>
  void engine(Calls calls);

  std::shared_ptr<const mjModel> nominal_, model_;  // the same until vary() is called
  std::shared_ptr<mjModel> varied_;
  DataPointer data_;
  int pushed_ = 0;  // the body that is pushed in the next advance(); 0: none
  int frame_skip_;
  Reads reads_;
};

}  // namespace ovde
