// Guards calls into MuJoCo. The engine reports warnings and errors through two process-wide
// callbacks; guarded() turns both into ovde::Error in the thread that made the call.
#pragma once

#include <type_traits>

namespace ovde {

// Runs call(argument); throws Error with MuJoCo's message if it warned or failed.
void guarded_call(void (*call)(void*), void* argument);

// The same for a lambda. An error of the engine leaves it by longjmp, so nothing in it may need a
// destructor.
template <typename Function>
void guarded(Function function) {
  static_assert(std::is_trivially_destructible_v<Function>);
  guarded_call([](void* f) { (*static_cast<Function*>(f))(); }, &function);
}

}  // namespace ovde
