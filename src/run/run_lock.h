// The lock of a run, which one process writes. It is released when the process ends, however it
// ends. It belongs to the file `lock`, not to its path: all paths to a folder share it.
#pragma once

#include <vector>

#include "base/file_system.h"
#include "io/files.h"

namespace ovde {

inline constexpr const char* kLockFile = "lock";

// ---- locks of whole files, which belong to the open file, not to its process: they can be tested
// without being taken, and two runs in one process exclude each other too

bool set_lock(const Descriptor& file);  // false: errno says why
bool is_locked(const Descriptor& file);

// Whether the open file still has this path: a holder may have removed it.
bool has_path(const Descriptor& file, const fs::path& path);

// Another process is writing the run.
class RunIsHeld : public InputError {
  using InputError::InputError;
};

class RunLock {
 public:
  // RunIsHeld if another process has it; Error if it cannot be taken. Changes no existing file
  // before announce().
  explicit RunLock(const fs::path& run);
  ~RunLock();
  RunLock(RunLock&&) noexcept = default;

  // Writes process and host into the file, for people; the file then stays.
  void announce();

  // RunIsHeld if another process is writing the folder of an agent inside the run.
  void check_free(const fs::path& agent) const;

  // Locks the folder of an agent inside the run too: by a hard link to the same file, or a lock of
  // its own where the file system has no hard links.
  void cover(const fs::path& agent);

  // Whether a process is writing the run. Does not take the lock.
  static bool is_held(const fs::path& run);
  // RunIsHeld, which names the process, if one is writing the run.
  static void check_not_held(const fs::path& run);

 private:
  fs::path path_;
  bool is_new_ = false;  // this process made the file
  Descriptor file_;
  std::vector<RunLock> others_;  // locks of agents without a hard link
};

}  // namespace ovde
