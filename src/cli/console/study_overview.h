// The live overview of a study: on a terminal a few lines that are redrawn, in a pipe plain lines.
#pragma once

#include <cstdio>
#include <memory>

#include "cli/console/train_bar.h"
#include "study/execute/run_study.h"

namespace ovde {

std::unique_ptr<StudySink> console_overview(std::FILE* out, ConsoleStyle style);

}  // namespace ovde
