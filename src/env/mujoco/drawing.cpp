#include "env/mujoco/drawing.h"

#include <algorithm>
#include <map>
#include <optional>

#include "env/mujoco/guard.h"

namespace ovde {

namespace {

constexpr int kHiddenGroup = 3;  // MuJoCo's viewer shows groups 0 to 2

// Nullopt for height fields. The size of a mesh is that of its bounding box.
std::optional<Solid::Kind> kind_of(int type) {
  using Kind = Solid::Kind;
  static const std::map<int, Kind> kinds = {
      {mjGEOM_PLANE, Kind::plane},       {mjGEOM_SPHERE, Kind::sphere},
      {mjGEOM_CAPSULE, Kind::capsule},   {mjGEOM_ELLIPSOID, Kind::ellipsoid},
      {mjGEOM_CYLINDER, Kind::cylinder}, {mjGEOM_BOX, Kind::box},
      {mjGEOM_MESH, Kind::box}};
  const auto found = kinds.find(type);
  return found == kinds.end() ? std::nullopt : std::optional(found->second);
}

bool is_drawn(const mjModel& m, int geom) {
  return kind_of(m.geom_type[geom]) && m.geom_group[geom] < kHiddenGroup &&
         m.geom_rgba[4 * geom + 3] > 0;
}

bool moves(const mjModel& m, int geom) { return m.body_weldid[m.geom_bodyid[geom]] != 0; }

Pose pose_of(const mjData& d, int geom) {
  Pose pose;
  std::copy_n(d.geom_xpos + 3 * geom, 3, pose.position.begin());
  mju_mat2Quat(pose.orientation.data(), d.geom_xmat + 9 * geom);
  return pose;
}

}  // namespace

std::vector<Solid> drawn_solids(const mjModel& m) {
  const DataPointer data = make_data(m);
  guarded([&] { mj_kinematics(&m, data.get()); });
  std::vector<Solid> solids;
  for (int geom = 0; geom < m.ngeom; ++geom) {
    if (!is_drawn(m, geom)) continue;
    Solid solid{.kind = *kind_of(m.geom_type[geom])};
    std::copy_n(m.geom_size + 3 * geom, 3, solid.size.begin());
    std::copy_n(m.geom_rgba + 4 * geom, 4, solid.colour.begin());
    if (!moves(m, geom)) solid.fixed = pose_of(*data, geom);
    solids.push_back(solid);
  }
  return solids;
}

std::vector<Pose> GeomPoses::read(const Simulation& simulation) {
  const mjModel& m = simulation.model();
  if (!data_) data_ = make_data(m);
  std::ranges::copy(simulation.q(), data_->qpos);
  guarded([&] { mj_kinematics(&m, data_.get()); });
  std::vector<Pose> poses;
  for (int geom = 0; geom < m.ngeom; ++geom)
    if (is_drawn(m, geom) && moves(m, geom)) poses.push_back(pose_of(*data_, geom));
  return poses;
}

}  // namespace ovde
