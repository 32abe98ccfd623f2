// The command-line program as a function: a program of one's own registers its tasks, calls this,
// and has `train`, `eval`, `list` and the rest for them too.
#pragma once

namespace ovde {

int run_program(int argc,
                char** argv);  // the exit code: 0 done, 1 failed, 2 wrong input, 130 interrupted

}  // namespace ovde
