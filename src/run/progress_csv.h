// progress.csv: one row an epoch, as text and back.
#pragma once

#include <ctime>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
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
// The same; none where a run has not ended its first epoch.
std::vector<EpochRow> read_progress_so_far(const std::filesystem::path& run);

// The rows of a run that is being written: what was read is not read again.
class ProgressReader {
 public:
  explicit ProgressReader(std::filesystem::path run) : run_(std::move(run)) {}

  // Reads what has been appended; true: the rows are others than before. InputError as
  // parse_progress().
  bool look();
  const std::vector<EpochRow>& rows() const { return rows_; }

 private:
  bool forget();

  std::filesystem::path run_;
  std::vector<EpochRow> rows_;
  std::size_t end_ = 0;   // of the last whole row in the file
  std::string last_;      // that row; the header where there is none
  std::size_t size_ = 0;  // of the file when it was last read, and its time
  std::timespec changed_ = {};
};

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
