// One process writes a run. The lock goes with the process, however it ends.
#pragma once

#include <filesystem>

#include "io/files.h"

namespace ovde {

class RunLock {
 public:
  // InputError if another process has it; Error if it cannot be taken.
  explicit RunLock(const std::filesystem::path& run);

  // Whether some process is writing the run. Asking takes nothing.
  static bool is_held(const std::filesystem::path& run);

 private:
  Descriptor file_;
};

}  // namespace ovde
