#include "cli/signals.h"

#include <time.h>
#include <unistd.h>

#include <cstdint>

#include "cli/commands.h"

namespace ovde::cli {

namespace {

// Global, because a signal handler has no other way to reach them.
std::atomic<bool> asked{false};
std::atomic<std::int64_t> asked_at{0};  // milliseconds
static_assert(std::atomic<bool>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);

// Signals this close together count as one: `timeout` and shells signal a process and its group.
constexpr std::int64_t kDebounceMilliseconds = 50;

std::int64_t milliseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

// For signals that come repeatedly without a user's doing: SIGHUP from the kernel and the shell of
// a closed terminal, SIGPIPE for every line printed to a closed pipe.
extern "C" void ask_to_stop(int) {
  if (asked) return;
  asked_at = milliseconds();
  asked = true;
}

extern "C" void ask_to_stop_or_exit(int signal) {
  if (asked && milliseconds() - asked_at > kDebounceMilliseconds) ::_exit(kInterrupted);
  ask_to_stop(signal);
}

}  // namespace

const std::atomic<bool>& stop_asked() { return asked; }

Signals::Signals() {
  asked = false;
  set(SIGINT, &ask_to_stop_or_exit);
  set(SIGTERM, &ask_to_stop_or_exit);
  set(SIGPIPE, &ask_to_stop);
  set(SIGUSR1, &ask_to_stop);  // from a scheduler: the time limit is near
  struct sigaction hangup = {};
  const bool ignored =
      ::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN;  // nohup
  if (!ignored) set(SIGHUP, &ask_to_stop);
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
