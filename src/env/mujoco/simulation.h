// One running simulation: a model, which is fixed and shared, and data, which change and belong to
// it alone. Knows nothing of rewards or observations. Any trouble MuJoCo reports is thrown as
// Error, after which the simulation must be started anew.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <mujoco/mujoco.h>

#include <ovde/bytes.h>

namespace ovde {

struct DeleteData {
  void operator()(mjData* data) const { mj_deleteData(data); }
};
using DataPointer = std::unique_ptr<mjData, DeleteData>;

class Simulation {
 public:
  // `model` names an embedded MJCF file; one action lasts for `frame_skip` steps of the engine.
  Simulation(const std::string& model, int frame_skip);

  const mjModel& model() const { return *model_; }
  const mjData& data() const { return *data_; }
  double seconds_per_action() const { return frame_skip_ * model_->opt.timestep; }

  // positions, velocities, and where the engine last saw a body or site: the last evaluation
  // *inside* the last step, which is older than the positions. Gymnasium reads them so, and so do
  // the tasks.
  std::span<const double> q() const { return {data_->qpos, static_cast<std::size_t>(model_->nq)}; }
  std::span<const double> v() const { return {data_->qvel, static_cast<std::size_t>(model_->nv)}; }
  std::span<const double, 3> body(int number) const { return vector(data_->xpos, number); }
  std::span<const double, 3> site(int number) const { return vector(data_->site_xpos, number); }

  // Starts from a state of rest at qpos0, to which `place` may write positions and velocities.
  template <typename Place>
  void start(Place place) {
    clear();
    place(std::span<double>{data_->qpos, q().size()}, std::span<double>{data_->qvel, v().size()});
    settle();
  }

  void advance(std::span<const double> action);

  // Adds to all velocities, and to all positions in their tangent space (a quaternion stays one),
  // both of size nv; then brings the places of bodies and sites up to date.
  void push(std::span<const double> position, std::span<const double> velocity);

  // All that the next step, and whoever reads this one, can depend on.
  void save(ByteWriter& out) const;
  void restore(ByteReader& in);

 private:
  static std::span<const double, 3> vector(const double* all, int number) {
    return std::span<const double, 3>(all + 3 * number, 3);
  }
  void clear();
  void settle();
  template <typename Visit>
  void visit_state(Visit visit) const;
  template <typename Calls>
  void engine(Calls calls);

  std::shared_ptr<const mjModel> model_;
  DataPointer data_;
  int frame_skip_;
};

}  // namespace ovde
