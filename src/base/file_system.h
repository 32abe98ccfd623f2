// The short name of std::filesystem.
#pragma once

#include <filesystem>

namespace ovde {

namespace fs = std::filesystem;

}  // namespace ovde
