// The runs in a set of folders, followed as they are written. Reads only, and only what has changed
// since it last looked: a look at runs that stand still is a few system calls for each.
#pragma once

#include <ctime>
#include <deque>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "run/progress_csv.h"
#include "run/run_status.h"

namespace ovde {

struct WatchedRun {
  WatchedRun(std::filesystem::path folder, std::string name, int root)
      : folder(folder), name(std::move(name)), root(root), progress(std::move(folder)) {}

  std::filesystem::path folder;
  std::string name;  // within its root
  int root;          // number of the folder that was asked for
  bool there = true;
  RunStatus status;
  ProgressReader progress;
  std::optional<Config> config;       // nullopt: it cannot be read
  std::vector<std::timespec> stamps;  // of the files that its state depends on
};

class RunWatch {
 public:
  explicit RunWatch(std::vector<std::filesystem::path> folders);

  const std::vector<std::filesystem::path>& folders() const { return folders_; }
  // By their numbers, which do not change; those that are no longer there stay, marked so.
  const std::deque<WatchedRun>& runs() const { return runs_; }

  // Looks again, and with `for_new_runs` for folders that have come or gone; the numbers of the
  // runs that are others than before.
  std::vector<int> look(bool for_new_runs);

 private:
  void find(std::vector<int>& changed);
  bool look_at(WatchedRun& run);

  std::vector<std::filesystem::path> folders_;
  std::deque<WatchedRun> runs_;
  std::map<std::filesystem::path, int> numbers_;
};

}  // namespace ovde
