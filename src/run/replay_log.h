// The replay buffer on disk: rows go to segment files in the order they were added, each row once.
// A checkpoint names the segments that hold its rows, how much of each is its own and the checksum
// of that part; what was appended later does not concern it. So a checkpoint costs what is new, and
// the rows of an older one stay readable.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include <ovde/bytes.h>
#include "agent/replay.h"
#include "io/files.h"

namespace ovde {

struct ReplaySegment {
  std::int64_t first = 0;      // number of its first row
  std::int64_t rows = 0;       // of which this many count
  std::uint32_t checksum = 0;  // of the file up to there
};

class ReplayLog {
 public:
  explicit ReplayLog(std::filesystem::path folder) : folder_(std::move(folder)) {}

  // Brings rows up to number `added` - 1 to the disk, as far as they are not there yet; returns the
  // segments that hold the buffer. Reads rows from number next_row() on and nothing else of
  // `replay`, which may meanwhile grow. Error if the disk does not take them.
  std::vector<ReplaySegment> write(const Replay& replay, std::int64_t added);

  // The first row that write() will read, if it is still in the buffer then.
  std::int64_t next_row() const;

  // Puts the rows of `segments` back and goes on after them. Error unless they are all there, to
  // the bit. Segments already on the disk are not appended to again: a checkpoint that is not used
  // any more may share them.
  void read(std::span<const ReplaySegment> segments, std::int64_t added, Replay& replay);

  // Removes the files of all segments but these.
  void keep_only(std::span<const ReplaySegment> one, std::span<const ReplaySegment> other) const;

 private:
  std::filesystem::path file_of(std::int64_t first) const;
  void start_segment(std::int64_t first, int row_floats);
  void append(std::span<const std::byte> bytes);

  std::filesystem::path folder_;
  std::vector<ReplaySegment> segments_;
  std::optional<GrowingFile> file_;  // of the last segment, while it grows
};

}  // namespace ovde
