// The text of `ovde --version`: the version, and the parts of a build on which results and speed
// depend.
#pragma once

#include <string>

namespace ovde::cli {

std::string build_description();

}  // namespace ovde::cli
