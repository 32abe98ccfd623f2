// Who runs which cell of a study, where several processes on any machines work in one folder. A
// claim is a file in `claims/` that only one of them can make; its time is kept fresh for as long
// as the process lives. It is there beside the lock of the run, which some network file systems do
// not honour between hosts.
//
// The holders of a cell are numbered (`<cell>.0`, `<cell>.1`, ...), and no number is given away
// twice before the cell is finished: of all who find a holder dead, one can make the next file.
#pragma once

#include <sys/stat.h>

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "io/files.h"

namespace ovde {

// A process that runs cells.
struct Holder {
  std::string host;
  std::string pid;
  std::string job;  // of a scheduler; empty: none

  std::string text() const;  // "n1 (pid 4711, job 12_3)"
};

// What the folder says of a cell that is not finished.
struct ClaimState {
  std::optional<Holder> holder;      // that is alive; or was, a minute ago
  std::optional<std::string> error;  // why it failed when it was last tried
};
std::map<std::string, ClaimState> read_claims(const std::filesystem::path& study,
                                              const std::vector<std::string>& cells);

// The claims of one process. Cells are named by their folders.
class Claims {
 public:
  // After `patience` seconds without a sign of life others take this process for dead. `lost` is
  // called if that was wrong and a cell has been taken over: it must end the process without
  // writing to any run.
  Claims(const std::filesystem::path& study, double patience,
         std::function<void(const std::string&)> lost);
  ~Claims();  // others may go on with what it still has
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  // Reads what there is; the answers below are about that. Of the processes that have cells, this
  // many are looked at, and the others taken for alive: many who wait need not look at all of them.
  void look(std::size_t most = SIZE_MAX);

  // Whether there is any file about it.
  bool is_known(const std::string& cell) const;
  // Whether a process that is alive has it.
  bool is_taken(const std::string& cell);
  // False: one has, by now.
  bool take(const std::string& cell);
  // Why nobody should try the cell again: it has failed since this process began, or one worker
  // after the other died of it.
  std::optional<std::string> failure(const std::string& cell);

  void give_back(const std::string& cell);
  void finish(const std::string& cell);
  void fail(const std::string& cell, const std::string& why);

  // Removes what dead processes have left of claims on finished cells.
  static void forget(const std::filesystem::path& study, const std::vector<std::string>& finished);

 private:
  struct Entry {
    int newest = -1;  // number of the last holder
    ino_t inode = 0;  // of its file
    ino_t note = 0;   // of the file that says why it failed; 0: there is none
  };
  using Listing = std::map<std::string, Entry>;  // by the name of the cell's files
  enum class State { free, alive, dead };
  struct Probe {
    State state = State::free;
    Holder holder = {};
  };
  // A claim of this process, with a file of its own where the file system has no second names.
  struct Held {
    int number;
    std::optional<Descriptor> file;
  };

  static Listing list(const std::filesystem::path& folder);
  static Probe probe(const std::filesystem::path& file, double now);
  friend std::map<std::string, ClaimState> read_claims(const std::filesystem::path&,
                                                       const std::vector<std::string>&);

  std::filesystem::path file_of(const std::string& name, int number) const;
  Entry entry_of(const std::string& name) const;
  const Probe& holder_of(const std::string& name, const Entry& entry);
  void make_worker();
  std::optional<Held> make(const std::string& name, int number);
  void release(const std::string& name);
  static void remove_dead_workers(const std::filesystem::path& folder,
                                  const std::filesystem::path& own, double now);
  double touch();  // the time by the clock of the file system
  void beat(const std::stop_token& stop);
  std::optional<std::string> find_lost();

  std::filesystem::path folder_;
  double patience_;
  std::function<void(const std::string&)> lost_;
  std::string content_;           // of every file that says who has a cell
  std::filesystem::path worker_;  // the file whose second names the claims are
  Descriptor file_;
  Listing first_, now_;            // when it began; at the last look
  std::map<ino_t, Probe> probes_;  // since the last look
  std::size_t most_probes_ = 0;
  std::map<std::string, Held> held_;  // by name
  std::mutex mutex_;                  // of held_
  std::condition_variable_any wake_;
  std::jthread heart_;  // last: it uses the others
};

}  // namespace ovde
