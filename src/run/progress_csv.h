// progress.csv: one row an epoch, as text and back.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "io/files.h"
#include "run/metrics.h"

namespace ovde {

inline constexpr const char* kProgressFile = "progress.csv";

std::string csv_header();
std::string csv_row(const EpochRow& row);

// Rows as far as they are whole: a run that is being written may end within one. Those of format 1
// are relabelled. InputError that begins with `name` if the text does not start with the columns of
// a run, or its rows are not its epochs, each once and in their order.
std::vector<EpochRow> parse_progress(const std::string& text, const std::string& name);
std::vector<EpochRow> read_progress(const std::filesystem::path& run);

// The file being written; a row is on the system's side of the program's buffers as soon as
// append() returns.
class ProgressFile {
 public:
  // Holds the header and these rows, whatever it held before.
  ProgressFile(const std::filesystem::path& run, std::span<const EpochRow> rows);

  void append(const EpochRow& row);  // Error if it cannot be written (disk full)
  void sync() { file_.sync(); }      // until the rows are on the disk itself

 private:
  GrowingFile file_;
};

}  // namespace ovde
