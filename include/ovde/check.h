// Whether a task of one's own keeps to the interface, as Gymnasium's check_env does it: for a test
// beside the task. Spaces are checked before every run too; the rest, which steps the environment,
// is not.
#pragma once

#include <cstdint>

#include <ovde/env.h>

namespace ovde {

// InputError, which says what, unless there are observations and the action space has bounds that
// are as many, finite, and in order.
void check_spaces(const Env& env);

// The same, and plays two episodes with random actions: observations are written whole, everything
// is finite, an episode follows from its seed and its actions alone, and from what save() gives
// restore() goes on to the same numbers. InputError, which says what, where it is not so.
void check(Env& env, std::uint64_t seed = 0);

}  // namespace ovde
