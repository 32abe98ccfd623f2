// The names of the kinds of solids, in MuJoCo's models and in recordings.
#pragma once

#include <ovde/env.h>
#include <ovde/error.h>

namespace ovde {

inline const char* name(Solid::Kind kind) {
  switch (kind) {
    case Solid::Kind::plane:
      return "plane";
    case Solid::Kind::sphere:
      return "sphere";
    case Solid::Kind::capsule:
      return "capsule";
    case Solid::Kind::ellipsoid:
      return "ellipsoid";
    case Solid::Kind::cylinder:
      return "cylinder";
    case Solid::Kind::box:
      return "box";
  }
  throw Error("a solid of no kind");
}

}  // namespace ovde
