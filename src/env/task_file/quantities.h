// The quantities of a MuJoCo model that formulas read, by name: their addresses in mjData, and the
// name of each number. Errors suggest the nearest name of the model.
#pragma once

#include <string>
#include <vector>

#include <mujoco/mujoco.h>

#include <ovde/env.h>

namespace ovde {

struct Quantity {
  enum class Source {
    stored,    // numbers of mjData from `first` on
    velocity,  // mj_objectVelocity of an object: angular, then linear
    contact,   // whether geom `number` touches geom `other`, or any if that is -1
  };
  Source source = Source::stored;
  const double* first = nullptr;
  int size = 1;
  bool negative = false;  // the stored numbers with the opposite sign
  int type = 0, number = 0, other = -1;
  bool local = false, linear = false;  // a velocity in the object's frame; its linear half
  std::vector<Signal> signals = {};    // name and unit of each number
};

// joint("knee").pos is quantity_of(model, data, "joint", {"knee"}, "pos"). A sensor and a contact
// have no part. InputError without file and line.
Quantity quantity_of(const mjModel& model, const mjData& data, const std::string& kind,
                     const std::string& name, const std::string& part);
Quantity contact_of(const mjModel& model, const std::vector<std::string>& geoms);
const std::vector<std::string>& object_kinds();

// "unknown joint 'kne' (did you mean 'knee'?); the model has hip, knee".
[[noreturn]] void refuse_name(const std::string& kind, const std::string& name,
                              const std::vector<std::string>& valid, const std::string& owner);
// The number of an object of an mjtObj; throws as refuse_name() does.
int number_in(const mjModel& model, int type, const std::string& kind, const std::string& name);

// The coordinates of a joint in qpos and in qvel.
struct JointCoordinates {
  int position, position_size, velocity, velocity_size;
};
JointCoordinates coordinates_of(const mjModel& model, int joint);

// The unit of a number that was multiplied by `factor`, so that a value of 1 means it: "20 rad/s"
// for 0.05 of a speed.
std::string scaled_unit(const std::string& unit, double factor);

}  // namespace ovde
