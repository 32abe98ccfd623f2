#include "env/mujoco/guard.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include <mujoco/mujoco.h>

#include <ovde/error.h>

namespace ovde {

namespace {

using Handler = void (*)(const char*);

// One guarded call in progress.
struct Watch {
  std::jmp_buf jump;
  bool trouble = false;
  char message[512] = "";  // the first warning, or the error

  void note(const char* text) {
    trouble = true;
    std::snprintf(message, sizeof message, "%s", text);
  }
};
thread_local Watch* current = nullptr;

// Handlers installed earlier by the application; called for messages outside guarded calls.
Handler earlier_warning = nullptr;
Handler earlier_error = nullptr;

void on_warning(const char* text) {
  if (current == nullptr) {
    earlier_warning ? earlier_warning(text)
                    : (void)std::fprintf(stderr, "MuJoCo warning: %s\n", text);
  } else if (!current->trouble) {
    current->note(text);
  }
}

// Must not return. It jumps instead of throwing, because MuJoCo's C frames may have been built
// without unwind tables.
void on_error(const char* text) {
  if (current == nullptr) {
    earlier_error ? earlier_error(text) : (void)std::fprintf(stderr, "MuJoCo error: %s\n", text);
    std::exit(EXIT_FAILURE);
  }
  current->note(text);
  std::longjmp(current->jump, 1);
}

void install_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    earlier_warning = mju_user_warning;
    earlier_error = mju_user_error;
    mju_user_warning = on_warning;
    mju_user_error = on_error;
  });
}

// The frame that an error jumps back to. It has no local variables, since changes to them between
// setjmp and longjmp would be lost.
void call_or_return(Watch& watch, void (*call)(void*), void* argument) {
  if (setjmp(watch.jump) == 0) call(argument);
}

}  // namespace

void guarded_call(void (*call)(void*), void* argument) {
  install_handlers();
  Watch watch;
  Watch* const outer = current;
  current = &watch;
  call_or_return(watch, call, argument);
  current = outer;
  if (watch.trouble) throw Error(watch.message);
}

}  // namespace ovde
