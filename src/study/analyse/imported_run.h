// A run of another program: a CSV file with the columns step and return and a line for each
// evaluation, read as the epochs that a run of this program would have had.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "config/config.h"
#include "run/metrics.h"

namespace ovde {

// The file of a seed, in the folder of its cell.
fs::path imported_file(const fs::path& cell, std::uint64_t seed);

// One row for each epoch: the mean of the evaluations at its environment steps, NaN without any.
// Evaluations before the first update or after the last epoch are ignored. Optional columns:
// seconds (since the start) and success (share of the evaluation episodes that reached the goal).
// InputError that begins with `name`, and the line where there is one, if the text is not such a
// file or ends before the last epoch.
std::vector<EpochRow> parse_imported(const std::string& text, const std::string& name,
                                     const TrainConfig& train);
std::vector<EpochRow> read_imported(const fs::path& file, const TrainConfig& train);

}  // namespace ovde
