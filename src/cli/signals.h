// Signals while work goes on that can be saved: the first one asks it to stop, a second one ends
// the process.
#pragma once

#include <atomic>
#include <utility>
#include <vector>

#include <signal.h>

namespace ovde::cli {

// Becomes true with the first SIGINT, SIGTERM or SIGUSR1 while a Signals exists, and when the
// terminal or the pipe that is printed to is closed.
const std::atomic<bool>& stop_asked();

class Signals {
 public:
  Signals();
  ~Signals();  // as they were before
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  void set(int signal, void (*handler)(int));
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace ovde::cli
