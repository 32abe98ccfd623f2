// A run of another program: a CSV file with a line for each evaluation, read as the epochs that a
// run of this program would have had.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "config/config.h"
#include "run/metrics.h"
#include "study/analyse/csv.h"

namespace ovde {

// Columns of the file; the last two are optional. Others are ignored.
inline constexpr const char* kCurveColumns[] = {"step", "return", "seconds", "success"};

struct CurvePoint {
  double step = 0, value = 0;
  double seconds = EpochRow::kNone;  // since the start
  double success = EpochRow::kNone;  // share of the evaluation episodes that reached the goal
};

// The evaluation of the current line. InputError with the line's number if a value is not valid or
// the step is below `last_step`, that of the run's evaluation before it.
CurvePoint read_curve_point(const CsvReader& in, double last_step);

// The file of a seed, in the folder of its cell.
fs::path imported_file(const fs::path& cell, std::uint64_t seed);

// One row for each epoch: the mean of the evaluations at its environment steps, NaN without any.
// Evaluations before the first update or after the last epoch are ignored. InputError that begins
// with `name`, and the line where there is one, if the text is not such a file or ends before the
// last epoch.
std::vector<EpochRow> parse_imported(const std::string& text, const std::string& name,
                                     const TrainConfig& train);
std::vector<EpochRow> read_imported(const fs::path& file, const TrainConfig& train);

}  // namespace ovde
