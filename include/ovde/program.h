// The command-line program as a function: a program that registers its own tasks or explorers and
// calls this has `train`, `eval`, `list` and all other commands for them.
#pragma once

namespace ovde {

// Returns the exit code: 0 success, 1 failure, 2 wrong input, 130 interrupted.
int run_program(int argc, char** argv);

}  // namespace ovde
