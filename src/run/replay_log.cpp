#include "run/replay_log.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include <ovde/error.h>
#include "io/crc32c.h"

namespace ovde {

namespace {

constexpr std::string_view kSegmentPrefix = "replay-", kSegmentSuffix = ".rows";

// Small enough to drop old rows in steps, large enough to have few files.
constexpr std::int64_t kSegmentBytes = std::int64_t{8} << 20;

constexpr std::array<char, 8> kMagic = {'O', 'V', 'D', 'E', 'R', 'O', 'W', 'S'};

Bytes segment_header(std::int64_t first, int row_floats) {
  ByteWriter out;
  out.put(kMagic);
  out.put(first);
  out.put<std::int64_t>(row_floats);
  return out.take();
}

}  // namespace

fs::path ReplayLog::file_of(std::int64_t first) const {
  return folder_ / fmt::format("{}{}{}", kSegmentPrefix, first, kSegmentSuffix);
}

std::int64_t ReplayLog::next_row() const {
  return segments_.empty() ? 0 : segments_.back().first + segments_.back().rows;
}

void ReplayLog::start_segment(std::int64_t first, int row_floats) {
  segments_.push_back({first, 0, 0});
  file_.emplace(file_of(first), "");
  sync_folder(folder_);  // before a checkpoint names it
  append(segment_header(first, row_floats));
}

void ReplayLog::append(std::span<const std::byte> bytes) {
  file_->append(bytes);
  segments_.back().checksum = crc32c(bytes, segments_.back().checksum);
}

std::vector<ReplaySegment> ReplayLog::write(const Replay& replay, std::int64_t added) {
  const std::int64_t row_bytes = replay.row_floats() * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t segment_rows = std::max<std::int64_t>(1, kSegmentBytes / row_bytes);
  const std::int64_t oldest = std::max<std::int64_t>(0, added - replay.capacity());

  std::int64_t row = next_row();
  if (row < oldest) {  // more rows were added since than the buffer holds
    row = oldest;
    file_.reset();
  }
  while (row < added) {
    if (!file_ || segments_.back().rows >= segment_rows) {
      if (file_) file_->sync();
      start_segment(row, replay.row_floats());
    }
    const std::int64_t end = std::min(added, segments_.back().first + segment_rows);
    replay.for_each_piece(row, end, [&](std::int64_t index, std::int64_t count) {
      append(std::as_bytes(replay.raw(index, count)));
    });
    segments_.back().rows = end - segments_.back().first;
    row = end;
  }
  if (file_) file_->sync();

  std::erase_if(segments_, [&](const ReplaySegment& s) { return s.first + s.rows <= oldest; });
  return segments_;
}

void ReplayLog::read(std::span<const ReplaySegment> segments, std::int64_t added, Replay& replay) {
  const std::int64_t row_bytes = replay.row_floats() * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t oldest = std::max<std::int64_t>(0, added - replay.capacity());
  if (added < 0) throw Error("counts a negative number of replay rows");

  std::int64_t next = oldest;
  for (const ReplaySegment& segment : segments) {
    const fs::path path = file_of(segment.first);
    const auto refuse = [&](const char* why) {
      throw Error(fmt::format("{} {}", path.filename().string(), why));
    };

    // checked before anything is computed with numbers from a file
    const bool fits = segment.first >= 0 && segment.first <= next && segment.rows > 0 &&
                      segment.rows <= added - segment.first && segment.first + segment.rows > next;
    if (!fits) refuse("does not follow the rows before it");

    const Bytes header = segment_header(segment.first, replay.row_floats());
    const std::string text = read_file(path);
    const auto bytes = std::as_bytes(std::span(text));
    if (bytes.size() < header.size() ||
        segment.rows > static_cast<std::int64_t>(bytes.size() - header.size()) / row_bytes)
      refuse("ends early");
    const auto own =
        bytes.first(header.size() + static_cast<std::size_t>(segment.rows * row_bytes));
    if (!std::ranges::equal(own.first(header.size()), header)) refuse("belongs to another run");
    if (crc32c(own) != segment.checksum) refuse("is damaged");

    // a segment may begin before the oldest row that the buffer keeps
    const auto rows =
        own.subspan(header.size() + static_cast<std::size_t>((next - segment.first) * row_bytes));
    std::vector<float> values(rows.size() / sizeof(float));
    std::memcpy(values.data(), rows.data(), rows.size());
    std::size_t used = 0;
    replay.for_each_piece(next, segment.first + segment.rows,
                          [&](std::int64_t index, std::int64_t count) {
                            const auto size = static_cast<std::size_t>(count * replay.row_floats());
                            replay.restore(index, std::span(values).subspan(used, size));
                            used += size;
                          });
    next = segment.first + segment.rows;
  }
  if (next != added) throw Error(fmt::format("replay rows from number {} on are missing", next));
  replay.set_added(added);
  segments_.assign(segments.begin(), segments.end());
}

void ReplayLog::keep_only(std::span<const ReplaySegment> one,
                          std::span<const ReplaySegment> other) const {
  const auto named_by = [&](const fs::path& path, std::span<const ReplaySegment> segments) {
    return std::ranges::any_of(segments,
                               [&](const ReplaySegment& s) { return file_of(s.first) == path; });
  };
  std::error_code ignored;  // a file that stays only costs space
  for (const fs::path& path : paths_in(folder_, ignored)) {
    const std::string name = path.filename().string();
    const bool is_segment = name.starts_with(kSegmentPrefix) && name.ends_with(kSegmentSuffix);
    if (is_segment && !named_by(path, one) && !named_by(path, other)) fs::remove(path, ignored);
  }
}

}  // namespace ovde
