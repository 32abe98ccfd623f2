// A single run, or a population, as a study of one cell, so that it can be reported on like any
// other.
#pragma once

#include <filesystem>

#include "study/analyse/results.h"

namespace ovde {

// InputError if the folder holds no run.
StudyResults results_of_run(const std::filesystem::path& folder);

}  // namespace ovde
