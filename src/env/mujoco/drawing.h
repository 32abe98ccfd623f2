// The geoms of a MuJoCo task and their poses, for pictures. Does not change the simulation.
#pragma once

#include <vector>

#include <ovde/env.h>
#include "env/mujoco/simulation.h"

namespace ovde {

// The visible geoms of simple shapes, in the model's order.
std::vector<Solid> drawn_solids(const mjModel& model);

// The poses of the moving geoms. The simulation's own geom poses are one evaluation old, and
// updating them would change what its task reads; so this computes them in its own data, made at
// the first call.
class GeomPoses {
 public:
  std::vector<Pose> read(const Simulation& simulation);

 private:
  DataPointer data_;
};

}  // namespace ovde
