// Checkpoints of a run: which are kept, which can be used, and what happens where none can.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "io/crc32c.h"
#include "train/resume.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

class SlowCheckpoints : public ResumeTest {};

TEST_F(SlowCheckpoints, LastTwoAreKept) {
  EXPECT_FALSE(train_until(request(run()), 5));
  int files = 0;
  for (const auto& entry : fs::directory_iterator(run() / "checkpoints"))
    files += entry.path().extension() == ".ovde";
  EXPECT_EQ(files, 2);
  EXPECT_TRUE(fs::exists(checkpoint(4)) && fs::exists(checkpoint(5)));
}

TEST_F(SlowCheckpoints, DamagedOneIsNamedAndTheOlderUsed) {
  EXPECT_FALSE(train_until(request(run()), 5));
  flip_bit(checkpoint(5));
  const auto warnings = resume_to_end(run());
  ASSERT_EQ(warnings.size(), 1u);
  expect_words(warnings[0], {checkpoint(5).string(), "damaged"});
  expect_words(log(), {"WARNING " + checkpoint(5).string()});
  EXPECT_EQ(fingerprint(run()), uninterrupted());
}

TEST_F(SlowCheckpoints, ForeignAndEmptyFilesAreSkipped) {
  EXPECT_FALSE(train_until(request(run()), 5));
  write_file_atomically(checkpoint(6), std::string("hello"));
  write_file_atomically(checkpoint(7), std::string());
  EXPECT_EQ(resume_to_end(run()).size(), 2u);
  EXPECT_EQ(fingerprint(run()), uninterrupted());
}

TEST_F(SlowCheckpoints, DamagedReplayRowsAreFound) {
  EXPECT_FALSE(train_until(request(run()), 5));
  const fs::path rows = run() / "checkpoints/replay-0.rows";
  std::string text = read_file(rows);
  text.back() = static_cast<char>(text.back() ^ 1);  // the newest row: the older one has not got it
  write_file_atomically(rows, text);
  const auto warnings = resume_to_end(run());
  ASSERT_EQ(warnings.size(), 1u);
  expect_words(warnings[0], {checkpoint(5).string(), "replay-0.rows is damaged"});
  EXPECT_EQ(fingerprint(run()), uninterrupted());
}

TEST_F(SlowCheckpoints, WithoutAUsableOneNothingChanges) {
  EXPECT_FALSE(train_until(request(run()), 5));
  // what a process that was killed wrote after its checkpoint
  for (const char* file : {"visits.f32", "progress.csv"})
    std::ofstream(run() / file, std::ios::app) << "12345678";
  flip_bit(run() / "checkpoints/replay-0.rows");  // found when all else has been read
  std::string before = everything(run());
  expect_words(failure(run()), {"no checkpoint of", checkpoint(4).string(), "checkpoint-5"});
  EXPECT_TRUE(everything(run()) == before);

  flip_bit(checkpoint(4));
  flip_bit(checkpoint(5));
  before = everything(run());
  expect_words(failure(run()), {"no checkpoint of", checkpoint(4).string(), "checkpoint-5"});
  EXPECT_TRUE(everything(run()) == before);
}

TEST_F(SlowCheckpoints, BeforeTheFirstTheRunStartsOver) {
  EXPECT_FALSE(train_until(request(run()), 2));
  fs::remove_all(run() / "checkpoints");
  fs::create_directory(run() / "checkpoints");
  resume_to_end(run());
  EXPECT_EQ(fingerprint(run()), uninterrupted());
  expect_words(log(), {"from the beginning"});
}

// Not the same as none: a run that started over would remove them.
TEST_F(SlowCheckpoints, UnreadableFolderIsAnError) {
  EXPECT_FALSE(train_until(request(run()), 3));
  const fs::path folder = run() / "checkpoints", aside = folder_.path() / "aside";
  fs::rename(folder, aside);
  expect_words(failure(run()), {"the checkpoints of", "are missing"});
  fs::create_symlink("nowhere", folder);
  expect_words(failure(run()), {"cannot list the checkpoints in", folder.string()});
  fs::remove(folder);
  write_file_atomically(folder, std::string("a file"));
  expect_words(failure(run()), {"cannot list the checkpoints in", "Not a directory"});
  fs::remove(folder);

  fs::create_directory_symlink(aside, folder);  // elsewhere, but there
  EXPECT_TRUE(resume_to_end(run()).empty());
  EXPECT_EQ(fingerprint(run()), uninterrupted());
}

// As if killed before the folder was made.
TEST_F(SlowCheckpoints, RunsWithoutOneNeedNoFolder) {
  RunPlan unsaved = request(run());
  unsaved.config.checkpoint.epochs = 0;
  EXPECT_FALSE(train_until(unsaved, 1));
  fs::remove_all(run() / "checkpoints");
  fs::remove(run() / "state.json");
  replace_in(run() / "config.toml", "epochs = 0", "epochs = 1");
  resume_to_end(run());
  EXPECT_EQ(fingerprint(run()), uninterrupted());
}

TEST_F(SlowCheckpoints, NewerFormatIsRefused) {
  EXPECT_FALSE(train_until(request(run()), 3));
  std::string text = read_file(checkpoint(3));
  text[8] = 9;  // the version
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(text)).first(16));
  std::memcpy(text.data() + 16, &crc, sizeof crc);
  write_file_atomically(checkpoint(3), text);
  expect_words(failure(run()), {"has format 9", "newer ovde"});
}

TEST_F(SlowCheckpoints, FailureToSaveOneAgentSavesTheOthers) {
  RunPlan population = request(run(), "GridChaos-v0:s", {3, 4, 5});
  population.config.checkpoint.epochs = 0;
  class Blocker final : public ProgressSink {
   public:
    explicit Blocker(fs::path folder) : folder_(std::move(folder)) {}
    void epoch_done(int, const EpochRow&) override {
      if (++epochs_ == 3) stop = true;  // one of each agent
      if (epochs_ > 1) return;
      fs::remove_all(folder_);
      write_file_atomically(folder_, "a file where a folder should be");
    }
    void run_finished(std::span<const RunSummary>) override {}
    std::atomic<bool> stop{false};

   private:
    fs::path folder_;
    int epochs_ = 0;
  } blocker(run() / "seed_3" / "checkpoints");
  EXPECT_THROW(train(population, {.stop = &blocker.stop}, blocker), Error);
  for (const char* agent : {"seed_4", "seed_5"})
    EXPECT_FALSE(fs::is_empty(run() / agent / "checkpoints")) << agent;
}

// The n-th write of a checkpoint finds no space.
TEST_F(SlowCheckpoints, FullDiskKeepsTheLastOne) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  EXPECT_FALSE(train_until(request(run()), 3));
  const fs::path beside = checkpoint(4).string() + ".tmp";
  fs::create_symlink("/dev/full", beside);
  expect_words(failure(run()), {checkpoint(4).string(), "No space left"});
  expect_words(log(),
               {"checkpoint after 3 epochs and 95 environment steps", "ERROR", "No space left"});
  EXPECT_FALSE(has(log(), "checkpoint after 4")) << log();
  EXPECT_TRUE(fs::exists(checkpoint(3)));
  resume_to_end(run());
  EXPECT_EQ(fingerprint(run()), uninterrupted());
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
