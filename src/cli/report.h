// What the commands that write a report print of it.
#pragma once

#include "study/analyse/results.h"
#include "study/report/report.h"

namespace ovde::cli {

// Runs that have not ended, and files that do not count.
void print_left_out(const StudyResults& results);

// Its tables and tests, and where its page is.
void print(const Report& report);

}  // namespace ovde::cli
