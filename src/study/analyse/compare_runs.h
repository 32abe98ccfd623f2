// Runs that were never planned as a study, as one: the same tables, tests and page. Tasks are rows;
// algorithms, and what else was asked for, are columns.
#pragma once

#include <filesystem>
#include <span>

#include "study/analyse/results.h"

namespace ovde {

// `folders`: of runs and populations, or that hold some. Runs of the same task, algorithm and
// settings are one cell. The column of the first run is the baseline that the others are tested
// against. InputError where there is nothing to compare.
StudyResults compare_runs(std::span<const std::filesystem::path> folders);

}  // namespace ovde
