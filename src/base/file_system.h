// The short name of std::filesystem, and checks that do not throw.
#pragma once

#include <filesystem>
#include <system_error>

namespace ovde {

namespace fs = std::filesystem;

// False if the file system reports an error.
inline bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}
inline bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}
inline bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

}  // namespace ovde
