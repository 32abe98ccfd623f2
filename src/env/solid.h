// The names of the kinds of solids, in MuJoCo's models and in recordings.
#pragma once

#include <ovde/env.h>
#include "base/names.h"

namespace ovde {

template <>
inline constexpr Names<Solid::Kind> kNames<Solid::Kind> = {
    {Solid::Kind::plane, "plane"},       {Solid::Kind::sphere, "sphere"},
    {Solid::Kind::capsule, "capsule"},   {Solid::Kind::ellipsoid, "ellipsoid"},
    {Solid::Kind::cylinder, "cylinder"}, {Solid::Kind::box, "box"}};

}  // namespace ovde
