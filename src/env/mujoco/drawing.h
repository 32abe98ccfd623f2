// What a picture of a MuJoCo task shows: its geoms and where they are. The simulation that is drawn
// is not touched.
#pragma once

#include <vector>

#include <ovde/env.h>
#include "env/mujoco/simulation.h"

namespace ovde {

// The visible geoms of simple shapes, in the model's order.
std::vector<Solid> drawn_solids(const mjModel& model);

// Where those that move are. The simulation's own geom poses are those of the last evaluation
// inside its last step, and bringing them up to date would change what its task reads; so this
// works on data of its own, made at the first call.
class GeomPoses {
 public:
  std::vector<Pose> read(const Simulation& simulation);

 private:
  DataPointer data_;
};

}  // namespace ovde
