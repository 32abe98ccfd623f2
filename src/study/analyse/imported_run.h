// A run of another program: a CSV file with the columns step and return, evaluation by evaluation,
// read as the epochs that a run here would have had. It is kept as it came.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "config/config.h"
#include "run/metrics.h"

namespace ovde {

// Where the run of a seed is kept, in the folder of its cell.
std::filesystem::path imported_file(const std::filesystem::path& cell, std::uint64_t seed);

// One row for each of the epochs: the mean of the evaluations at the environment steps that belong
// to it, none where there are none. What was evaluated before the first update or after the last
// epoch does not count. Columns: step, return; where there are such, seconds (since the start) and
// success (share of the evaluation episodes that reached the goal). InputError that begins with
// `name` if the text is not such a file, or ends before the last epoch.
std::vector<EpochRow> parse_imported(const std::string& text, const std::string& name,
                                     const TrainConfig& train);
std::vector<EpochRow> read_imported(const std::filesystem::path& file, const TrainConfig& train);

}  // namespace ovde
