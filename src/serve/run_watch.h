// Follows the runs in a set of folders as they are written. Read-only; only changed files are read,
// so that a run without changes costs a few system calls. Links that lead out of the folders are
// not followed.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "config/config.h"
#include "run/progress_csv.h"
#include "run/run_status.h"

namespace ovde {

struct WatchedRun {
  WatchedRun(const Folder& folder, std::string name, int root)
      : folder(folder), name(std::move(name)), root(root), progress(folder) {}

  Folder folder;
  std::string name;  // relative to its root
  int root;          // number of the watched folder
  bool there = true;
  RunStatus status;
  ProgressReader progress;
  std::optional<Config> config;            // nullopt: cannot be read
  std::vector<fs::file_time_type> stamps;  // modification times of the files read
};

class RunWatch {
 public:
  explicit RunWatch(std::vector<fs::path> folders);

  const std::vector<fs::path>& folders() const { return folders_; }
  // By number. Numbers do not change; removed runs stay, with `there` unset.
  const std::deque<WatchedRun>& runs() const { return runs_; }

  // Reads the files that have changed, and with `for_new_runs` searches for new and removed
  // folders. Returns the numbers of the runs that changed.
  std::vector<int> look(bool for_new_runs);

 private:
  void find(std::vector<int>& changed);
  bool look_at(WatchedRun& run);

  std::vector<fs::path> folders_;
  std::deque<WatchedRun> runs_;
  std::map<fs::path, int> numbers_;
};

}  // namespace ovde
