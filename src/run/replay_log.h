// The replay buffer on the disk: rows are appended to segment files in their order, each row once.
// A checkpoint names its segments, the number of its rows in each and their checksum; rows that
// were appended later do not matter to it. So a checkpoint writes only new rows, and the rows of an
// older checkpoint stay readable.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <ovde/bytes.h>
#include "agent/replay.h"
#include "base/file_system.h"
#include "io/files.h"

namespace ovde {

struct ReplaySegment {
  std::int64_t first = 0;      // number of its first row
  std::int64_t rows = 0;       // number of rows that belong to the checkpoint
  std::uint32_t checksum = 0;  // checksum of the file up to the last of them
};

class ReplayLog {
 public:
  explicit ReplayLog(fs::path folder) : folder_(std::move(folder)) {}

  // Writes the rows up to number `added` - 1 that are not on the disk yet; returns the segments
  // that hold the buffer. Reads only rows from number next_row() on, while `replay` may grow. Error
  // if they cannot be written.
  std::vector<ReplaySegment> write(const Replay& replay, std::int64_t added);

  // The first row that write() will read, if it is still in the buffer.
  std::int64_t next_row() const;

  // Restores the rows of `segments` and continues after them. Error if any is missing or damaged.
  // Existing segments are not appended to: another checkpoint may share them.
  void read(std::span<const ReplaySegment> segments, std::int64_t added, Replay& replay);

  // Removes the files of all segments but these.
  void keep_only(std::span<const ReplaySegment> one, std::span<const ReplaySegment> other) const;

 private:
  fs::path file_of(std::int64_t first) const;
  void start_segment(std::int64_t first, int row_floats);
  void append(std::span<const std::byte> bytes);

  fs::path folder_;
  std::vector<ReplaySegment> segments_;
  std::optional<GrowingFile> file_;  // the last segment, while it grows
};

}  // namespace ovde
