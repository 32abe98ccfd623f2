// Shows the progress of a study: on a terminal as redrawn lines, in a pipe as plain lines.
#pragma once

#include <cstdio>
#include <memory>

#include "cli/console/train_bar.h"
#include "study/execute/run_study.h"

namespace ovde {

std::unique_ptr<StudySink> console_overview(std::FILE* out, ConsoleStyle style);

}  // namespace ovde
