#include "cli/signals.h"

#include <unistd.h>

#include "cli/commands.h"

namespace ovde::cli {

namespace {

// A handler can reach nothing else.
std::atomic<bool> asked{false};
static_assert(std::atomic<bool>::is_always_lock_free);

extern "C" void ask_to_stop(int) {
  if (asked.exchange(true)) ::_exit(kInterrupted);
}

}  // namespace

const std::atomic<bool>& stop_asked() { return asked; }

Signals::Signals() {
  asked = false;
  set(SIGINT, &ask_to_stop);
  set(SIGTERM, &ask_to_stop);
  // a file that must not grow further is an error of writing, not the end of the process
  set(SIGXFSZ, SIG_IGN);
}

Signals::~Signals() {
  for (const auto& [signal, before] : before_) ::sigaction(signal, &before, nullptr);
}

void Signals::set(int signal, void (*handler)(int)) {
  struct sigaction action = {}, before = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, &before);
  before_.emplace_back(signal, before);
}

}  // namespace ovde::cli
