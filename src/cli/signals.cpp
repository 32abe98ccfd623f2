#include "cli/signals.h"

#include <time.h>
#include <unistd.h>

#include <cstdint>

#include "cli/commands.h"

namespace ovde::cli {

namespace {

// A handler can reach nothing else.
std::atomic<bool> asked{false};
std::atomic<std::int64_t> asked_at{0};  // milliseconds
static_assert(std::atomic<bool>::is_always_lock_free &&
              std::atomic<std::int64_t>::is_always_lock_free);

// `timeout` and shells signal a process and its group: twice at once is one wish.
constexpr std::int64_t kOneWish = 50;

std::int64_t milliseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

// The second wish is obeyed at once.
extern "C" void ask_to_stop(int) {
  if (!asked) {
    asked_at = milliseconds();
    asked = true;
  } else if (milliseconds() - asked_at > kOneWish) {
    ::_exit(kInterrupted);
  }
}

// Nobody is there any more to read what is printed, and nobody wishes twice: the kernel and the
// shell of a closed terminal both signal, and every line printed to a closed pipe does.
extern "C" void ask_once(int) {
  if (asked) return;
  asked_at = milliseconds();
  asked = true;
}

}  // namespace

const std::atomic<bool>& stop_asked() { return asked; }

Signals::Signals() {
  asked = false;
  set(SIGINT, &ask_to_stop);
  set(SIGTERM, &ask_to_stop);
  set(SIGPIPE, &ask_once);
  set(SIGUSR1, &ask_once);  // by which schedulers tell that the time is nearly over
  struct sigaction hangup = {};
  const bool ignored =
      ::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN;  // nohup
  if (!ignored) set(SIGHUP, &ask_once);
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
