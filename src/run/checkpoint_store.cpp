#include "run/checkpoint_store.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/archive.h"
#include "base/text.h"

namespace ovde {

namespace {

constexpr std::string_view kCheckpointPrefix = "checkpoint-", kCheckpointSuffix = ".ovde";
constexpr const char* kCheckpointFolder = "checkpoints";
constexpr int kKept = 2;
constexpr int kLargestNumber = 1'000'000'000;
constexpr const char* kReplay = "replay";

std::string file_name(int number) {
  return fmt::format("{}{}{}", kCheckpointPrefix, number, kCheckpointSuffix);
}

std::optional<int> number_of(const fs::path& path) {
  const auto number =
      number_between(path.filename().string(), kCheckpointPrefix, kCheckpointSuffix);
  return number && *number >= 1 && *number <= kLargestNumber ? number : std::nullopt;
}

struct ReplayPosition {
  std::int64_t added = 0;
  std::vector<ReplaySegment> segments;

  void archive(Archive& archive) {
    std::uint64_t count = segments.size();
    archive(added, count);
    for (std::uint64_t i = 0; i < count; ++i) {  // restoring throws at the end of the bytes
      if (archive.restores()) segments.emplace_back();
      archive(segments[i].first, segments[i].rows, segments[i].checksum);
    }
  }
};

}  // namespace

CheckpointStore::CheckpointStore(const fs::path& run)
    : folder_(run / kCheckpointFolder), log_(folder_) {}

std::uintmax_t remove_checkpoints(const fs::path& run) {
  std::uintmax_t bytes = 0;
  for (const fs::path& path : paths_in(run / kCheckpointFolder)) {
    std::error_code ignored;
    if (!is_file(path)) continue;
    bytes += fs::file_size(path, ignored);
    fs::remove(path);
  }
  return bytes;
}

void CheckpointStore::save(Sections sections, const Replay& replay, std::function<void()> written) {
  wait();
  first_row_read_ = log_.next_row();
  const auto contents = std::make_shared<Sections>(std::move(sections));
  const auto work = [this, &replay, added = replay.added(), contents, written] {
    write(*contents, replay, added);
    written();
  };
  try {
    writing_ = std::async(std::launch::async, work);
  } catch (const std::system_error&) {  // no thread could be started: training waits
    work();
  }
}

void CheckpointStore::wait() {
  if (writing_.valid()) writing_.get();
}

void CheckpointStore::before_overwriting(std::int64_t row) {
  const bool ended =
      writing_.valid() && writing_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  if (ended || row >= first_row_read_) wait();
}

void CheckpointStore::write(Sections& sections, const Replay& replay, std::int64_t added) {
  // rows first: the segments that a checkpoint names must be on the disk
  auto segments = log_.write(replay, added);
  ReplayPosition position{added, segments};
  sections[kReplay] = save_members(position);
  write_checkpoint(folder_ / file_name(newest_ + 1), sections);
  ++newest_;

  previous_segments_ = std::move(segments_);
  segments_ = std::move(segments);
  remove_old(newest_);
  log_.keep_only(segments_, previous_segments_);
}

void CheckpointStore::remove_old(int newest) const {
  std::error_code ignored;  // a file that stays only costs space
  for (const fs::path& path : listed(ignored)) {
    if (*number_of(path) <= newest - kKept) fs::remove(path, ignored);
  }
}

std::vector<fs::path> CheckpointStore::listed(std::error_code& error) const {
  std::vector<fs::path> paths = paths_in(folder_, error);
  std::erase_if(paths, [](const fs::path& path) { return !number_of(path); });
  std::ranges::sort(paths, std::greater(), [](const fs::path& path) { return *number_of(path); });
  return paths;
}

bool CheckpointStore::has_folder() const {
  std::error_code ignored;  // a broken link counts as a folder
  return fs::symlink_status(folder_, ignored).type() != fs::file_type::not_found;
}

std::vector<fs::path> CheckpointStore::all() const {
  if (!has_folder()) return {};
  std::error_code error;  // a broken link is no empty folder, as paths_in() alone would say
  auto paths = listed(error);
  if (error) {
    throw Error(
        fmt::format("cannot list the checkpoints in {}: {}", folder_.string(), error.message()));
  }
  return paths;
}

void CheckpointStore::make_folder() { ovde::make_folder(folder_); }

void CheckpointStore::load(const fs::path& path, const Sections& sections, Replay& replay) {
  ReplayPosition position;
  restore_members(section(sections, kReplay), position);
  log_.read(position.segments, position.added, replay);
  segments_ = position.segments;
  newest_ = number_of(path).value_or(0);
}

}  // namespace ovde
