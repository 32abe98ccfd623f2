// progress.csv: one row an epoch, as text and back.
#pragma once

#include <ctime>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file_system.h"
#include "io/folder.h"
#include "run/metrics.h"

namespace ovde {

inline constexpr const char* kProgressFile = "progress.csv";

// `terms`: names of the terms of the reward, columns reward_<name> at the end.
std::string csv_header(std::span<const std::string> terms = {});
std::string csv_row(const EpochRow& row, std::size_t terms = 0);

// The whole rows: a file that is being written may end within one. InputError that begins with
// `name` if the columns are not those of a run, or the rows are not consecutive epochs from 0.
std::vector<EpochRow> parse_progress(const std::string& text, const std::string& name);
std::vector<EpochRow> read_progress(const Folder& run);  // as ProgressReader::look()
// The same; empty where there is no file yet.
std::vector<EpochRow> read_progress_so_far(const fs::path& run);

// What to do about the file of a run that is damaged or lacks rows.
std::string how_to_mend(const fs::path& run);

// The columns of a file: the first ones of kColumns, and the terms of the reward.
struct ProgressColumns {
  std::size_t fixed = 0;
  std::vector<std::string> terms = {};
};

// Follows a file that is being written without reading its rows again.
class ProgressReader {
 public:
  explicit ProgressReader(Folder run) : run_(std::move(run)) {}

  // Reads the rows that were appended; true: the rows have changed. InputError as parse_progress(),
  // with how_to_mend() the file.
  bool look();
  const std::vector<EpochRow>& rows() const { return rows_; }
  const std::vector<std::string>& terms() const { return columns_.terms; }  // names of the reward's

 private:
  bool forget();
  bool read_on(const Descriptor& file);

  Folder run_;
  std::vector<EpochRow> rows_;
  ProgressColumns columns_;
  std::size_t end_ = 0;   // end of the last whole row in the file
  std::string last_;      // that row, or the header
  std::size_t size_ = 0;  // the file's size and time when it was last read
  std::timespec changed_ = {};
};

// The file being written; append() hands the row to the system.
class ProgressFile {
 public:
  // Replaces the contents by the header and these rows.
  ProgressFile(const fs::path& run, std::span<const EpochRow> rows,
               std::span<const std::string> terms = {});

  void append(const EpochRow& row);  // Error if it cannot be written (disk full)
  void sync() { file_.sync(); }      // until the rows are on the disk itself

 private:
  std::size_t terms_;
  GrowingFile file_;
};

}  // namespace ovde
