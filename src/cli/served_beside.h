// The live page of a run beside the run: a process of its own, so that nothing that happens to it
// can happen to the run. It ends with the run.
#pragma once

#include <filesystem>

#include <sys/types.h>

namespace ovde::cli {

class ServedBeside {
 public:
  // Prints where it is; where no port is free, that, and the run goes on without. To be made before
  // there are threads.
  explicit ServedBeside(const std::filesystem::path& folder);
  ~ServedBeside();
  ServedBeside(const ServedBeside&) = delete;
  ServedBeside& operator=(const ServedBeside&) = delete;

 private:
  pid_t process_ = -1;
};

}  // namespace ovde::cli
