// Tests an environment, as Gymnasium's check_env does. Call check() in a test of your task.
#pragma once

#include <cstdint>

#include <ovde/env.h>

namespace ovde {

// Throws InputError unless the observation has at least one element and the action space has
// finite, ordered bounds. Called before every run.
void check_spaces(const Env& env);

// Also plays two episodes with random actions. Throws InputError unless observations are completely
// written, all numbers are finite, an episode depends on its seed and actions alone, and a restored
// state continues with the same numbers.
void check(Env& env, std::uint64_t seed = 0);

}  // namespace ovde
