// A folder for one test, removed when the test ends.
#pragma once

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace ovde {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (parent() / "ovde_test_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Paths of all files and folders in it, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) {
      all.push_back(std::filesystem::relative(entry.path(), path_).string());
    }
    std::ranges::sort(all);
    return all;
  }

 private:
  // In memory, unless TMPDIR is set: the program syncs what it writes, and a disk takes ten times
  // as long for that as the rest of a small run. Tests also start programs in their folders.
  static std::filesystem::path parent() {
    constexpr const char* kMemory = "/dev/shm";
    constexpr unsigned long kBytes = 1UL << 30;
    struct statvfs system;
    const bool in_memory = std::getenv("TMPDIR") == nullptr && ::access(kMemory, W_OK) == 0 &&
                           ::statvfs(kMemory, &system) == 0 && !(system.f_flag & ST_NOEXEC) &&
                           system.f_bavail * system.f_frsize >= kBytes;
    return in_memory ? kMemory : std::filesystem::temp_directory_path();
  }

  std::filesystem::path path_;
};

}  // namespace ovde
