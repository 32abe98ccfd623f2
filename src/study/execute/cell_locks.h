// Which process runs which cell of a study, where several processes of one machine work in one
// folder. A process locks the file of a cell in `locks/` while it runs the cell; the kernel
// releases the lock when the process ends, however that happens. The file names its holder, so that
// a cell is refused where a lock cannot be trusted: on another machine, in another process
// namespace, or on a file system whose locks are not visible.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "io/files.h"

namespace ovde {

// The process that runs a cell, as its lock file records it.
struct Holder {
  std::string host, boot, pid_namespace, pid;
  std::string started;  // start time of the process, in clock ticks since boot
  std::string job;      // Slurm's job; empty: none
  int restarts = 0;     // how often Slurm requeued the job
  int deaths = 0;       // processes that died while they ran the cell, one after the other

  std::string text() const;  // "n1 (pid 4711, job 12_3)"
};

// The state of a cell that is not finished, for people.
struct CellLockState {
  std::optional<Holder> holder;  // that runs the cell
  bool in_doubt = false;         // the holder's lock cannot be seen from here
  std::map<std::string, std::string>
      failures;  // why the cell failed when it was last tried, by node
};
std::map<std::string, CellLockState> read_cell_locks(const fs::path& study,
                                                     const std::vector<std::string>& cells);

// The locks of one process. Cells are named by their folders. Safe to use from several threads.
class CellLocks {
 public:
  // `take_over`: take cells even where their holder is in doubt.
  CellLocks(fs::path study, bool take_over);
  ~CellLocks();  // releases all locks
  CellLocks(const CellLocks&) = delete;
  CellLocks& operator=(const CellLocks&) = delete;

  // In doubt: the holder may be running it elsewhere. Refused: too many processes died running it.
  enum class Outcome { taken, held, in_doubt, refused };
  struct Attempt {
    Outcome outcome;
    std::string why = {};  // the reason, of in_doubt and refused
  };
  Attempt take(const std::string& cell);

  // Others may continue the cell.
  void release(const std::string& cell);
  // The cell is finished: nothing is left of its files.
  void finish(const std::string& cell);
  // Removes the file of a finished cell whose process was killed before it could.
  void remove_stale(const std::string& cell) const;
  // Notes the reason for other processes of this node, and releases the cell.
  void fail(const std::string& cell, const std::string& why);

  // Why the cell failed in another process of this node; nullopt: it did not. A failure may be that
  // of a node, so that other nodes try the cell.
  std::optional<std::string> failure(const std::string& cell) const;
  // Forgets failures of earlier processes of this node: the cells are tried again.
  void forget_failures(const std::vector<std::string>& cells) const;

 private:
  fs::path file_of(const std::string& cell) const;
  fs::path note_of(const std::string& cell) const;

  fs::path folder_;
  bool take_over_;
  std::map<std::string, Descriptor> held_;
  std::mutex mutex_;  // guards held_
};

}  // namespace ovde
