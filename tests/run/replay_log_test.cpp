// The replay buffer on disk: all rows come back, each is written once, and old ones go.
#include <gtest/gtest.h>

#include <ovde/error.h>
#include "io/files.h"
#include "run/replay_log.h"
#include "temporary_folder.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

constexpr int kObservation = 3, kAction = 2;

class Buffer {
 public:
  explicit Buffer(std::int64_t capacity) : replay(kObservation, kAction, capacity) {}

  void add(int count) {
    for (int i = 0; i < count; ++i) {
      const auto x = static_cast<float>(replay.added());
      const float observation[] = {x, -x, 1}, action[] = {x + 1, 2}, next[] = {x, x, x};
      replay.add(observation, action, x / 2, next,
                 replay.added() % 7 == 0 ? EpisodeEnd::terminal : EpisodeEnd::none);
    }
  }
  Replay replay;
};

void expect_same(const Replay& a, const Replay& b) {
  ASSERT_EQ(a.added(), b.added());
  EXPECT_TRUE(std::ranges::equal(a.raw(0, a.size()), b.raw(0, b.size())));
}

std::size_t bytes_in(const fs::path& folder) {
  std::size_t sum = 0;
  for (const auto& entry : fs::directory_iterator(folder)) sum += entry.file_size();
  return sum;
}

TEST(ReplayLog, RestoresPartlyAndCompletelyFullBuffers) {
  for (const int rows : {0, 1, 99, 100, 101, 150, 200, 1234}) {
    const TemporaryFolder folder;
    Buffer buffer(100), restored(100);
    buffer.add(rows);
    ReplayLog log(folder.path()), again(folder.path());
    const auto segments = log.write(buffer.replay, rows);
    again.read(segments, rows, restored.replay);
    expect_same(buffer.replay, restored.replay);
  }
}

TEST(ReplayLog, ManyWritesAndResumesGiveTheSameRows) {
  const TemporaryFolder folder;
  Buffer buffer(100);
  auto log = std::make_unique<ReplayLog>(folder.path());
  for (int i = 0; i < 60; ++i) {
    buffer.add(1 + i * 5 % 37);
    const auto segments = log->write(buffer.replay, buffer.replay.added());
    Buffer restored(100);
    auto next = std::make_unique<ReplayLog>(folder.path());
    next->read(segments, buffer.replay.added(), restored.replay);
    expect_same(buffer.replay, restored.replay);
    if (i % 3 == 0) log = std::move(next);  // as after a resume
  }
}

TEST(ReplayLog, OnlyNewRowsAreWritten) {
  const TemporaryFolder folder;
  Buffer buffer(100'000);
  buffer.add(100'000);
  ReplayLog log(folder.path());
  log.write(buffer.replay, buffer.replay.added());
  const std::size_t before = bytes_in(folder.path());
  buffer.add(10);
  log.write(buffer.replay, buffer.replay.added());
  EXPECT_EQ(bytes_in(folder.path()) - before, 10 * sizeof(float) * buffer.replay.row_floats());
}

TEST(ReplayLog, OldSegmentsAreRemoved) {
  const TemporaryFolder folder;
  Buffer buffer(300'000);  // 12 MB: two segments
  ReplayLog log(folder.path());
  std::vector<ReplaySegment> previous;
  const std::size_t most = 300'000 * sizeof(float) * buffer.replay.row_floats() + (3u << 23);
  for (int i = 0; i < 12; ++i) {
    buffer.add(100'000);
    const auto segments = log.write(buffer.replay, buffer.replay.added());
    log.keep_only(segments, previous);
    previous = segments;
    EXPECT_LT(bytes_in(folder.path()), most);
  }
  Buffer restored(300'000);
  ReplayLog(folder.path()).read(previous, buffer.replay.added(), restored.replay);
  expect_same(buffer.replay, restored.replay);
}

TEST(ReplayLog, OlderCheckpointsStayReadable) {
  const TemporaryFolder folder;
  Buffer buffer(1000);
  ReplayLog log(folder.path());
  buffer.add(50);
  const auto older = log.write(buffer.replay, 50);
  Buffer then(1000);
  then.add(50);
  buffer.add(50);
  log.write(buffer.replay, 100);

  Buffer restored(1000);
  ReplayLog resumed(folder.path());
  resumed.read(older, 50, restored.replay);
  expect_same(then.replay, restored.replay);

  // and what follows it now replaces what followed it before
  restored.add(20);
  const auto segments = resumed.write(restored.replay, 70);
  Buffer third(1000);
  ReplayLog(folder.path()).read(segments, 70, third.replay);
  expect_same(restored.replay, third.replay);
}

TEST(ReplayLog, DamageIsFound) {
  const TemporaryFolder folder;
  Buffer buffer(20);
  buffer.add(20);
  ReplayLog log(folder.path());
  const auto segments = log.write(buffer.replay, 20);
  const fs::path file = folder.path() / "replay-0.rows";
  const std::string good = read_file(file);
  const auto read = [&](std::vector<ReplaySegment> all, std::int64_t added, std::int64_t capacity) {
    Buffer restored(capacity);
    ReplayLog(folder.path()).read(all, added, restored.replay);
  };
  EXPECT_NO_THROW(read(segments, 20, 20));

  for (std::size_t bit = 0; bit < 8 * good.size(); bit += 37) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ 1 << bit % 8);
    write_file_atomically(file, bad);
    EXPECT_THROW(read(segments, 20, 20), Error) << "bit " << bit;
  }
  write_file_atomically(file, good.substr(0, good.size() - 1));
  EXPECT_THROW(read(segments, 20, 20), Error);
  fs::remove(file);
  EXPECT_THROW(read(segments, 20, 20), Error);

  // numbers that make no sense, as a checkpoint from elsewhere may have them
  write_file_atomically(file, good);
  const std::uint32_t checksum = segments[0].checksum;
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(read({}, 20, 20), Error);
  EXPECT_THROW(read(segments, 21, 20), Error);
  EXPECT_THROW(read(segments, -1, 20), Error);
  EXPECT_THROW(read(segments, kMost, 20), Error);
  EXPECT_THROW(read({{0, kMost, checksum}}, kMost, 20), Error);
  EXPECT_THROW(read({{-5, 20, checksum}}, 20, 20), Error);
  EXPECT_THROW(read({{0, 20, checksum}, {0, 20, checksum}}, 20, 20), Error);
}

TEST(ReplayLog, AFullDiskIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const TemporaryFolder folder;
  fs::create_symlink("/dev/full", folder.path() / "replay-0.rows");
  Buffer buffer(20);
  buffer.add(20);
  EXPECT_THROW(ReplayLog(folder.path()).write(buffer.replay, 20), Error);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
