// One process writes a run. The lock goes with the process, however it ends. It is a lock of the
// file `lock` itself and not of its name: whichever way a folder is called, it is the same one.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/files.h"

namespace ovde {

inline constexpr const char* kLockFile = "lock";

// Another process is writing the run.
class RunIsHeld : public InputError {
  using InputError::InputError;
};

class RunLock {
 public:
  // RunIsHeld if another process has it; Error if it cannot be taken. Nothing that was there is
  // changed before announce().
  explicit RunLock(const std::filesystem::path& run);
  ~RunLock();
  RunLock(RunLock&&) noexcept = default;

  // Writes down who has it, for people, and keeps the file.
  void announce();

  // RunIsHeld if another process is writing the folder of an agent inside the run.
  void check_free(const std::filesystem::path& agent) const;

  // The same lock on the folder of an agent inside the run, by a second name for the same file.
  // Where the file system has no such names, by a lock of its own.
  void cover(const std::filesystem::path& agent);

  // Whether some process is writing the run. Asking takes nothing.
  static bool is_held(const std::filesystem::path& run);
  // The same of any file that is locked as a whole.
  static bool is_locked(const Descriptor& file);

 private:
  std::filesystem::path path_;
  bool is_new_ = false;  // the file was not there before
  Descriptor file_;
  std::vector<RunLock> others_;  // of agents that could not be covered
};

}  // namespace ovde
