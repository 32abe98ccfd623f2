// Signal handling for commands that save their state: the first signal asks the command to stop,
// a second one ends the process.
#pragma once

#include <atomic>
#include <utility>
#include <vector>

#include <signal.h>

namespace ovde::cli {

// True after SIGINT, SIGTERM or SIGUSR1 while a Signals object exists, and after the terminal or
// the output pipe was closed.
const std::atomic<bool>& stop_asked();

class Signals {
 public:
  Signals();
  ~Signals();  // restores the previous handlers
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

 private:
  void set(int signal, void (*handler)(int));
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace ovde::cli
