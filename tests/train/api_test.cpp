// Training from within a program (ovde/train.h).
#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include <ovde/env.h>
#include <ovde/error.h>
#include <ovde/train.h>
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

std::string refusal(const std::vector<std::uint64_t>& seeds) {
  const TemporaryFolder folder;
  Training training;
  training.task = "GridChaos-v0:s";
  training.algorithm = "sac";
  training.seeds = seeds;
  training.settings = {"train.epochs=1", "train.batch=1", "train.warmup_steps=1",
                       "train.steps_per_epoch=1", "network.hidden=[2]"};
  training.folder = (folder.path() / "run").string();
  const std::string words = message_of([&] { train(training); });
  EXPECT_TRUE(words.empty() || folder.names().empty());
  return words;
}

TEST(Library, RefusesSeedsAbove53Bits) {
  constexpr std::uint64_t kLargest = (std::uint64_t{1} << 53) - 1;
  EXPECT_EQ(refusal({0, kLargest}), "");
  EXPECT_EQ(refusal({kLargest + 1}), "seed 9007199254740992: must be at most 9007199254740991");
  EXPECT_EQ(refusal({std::uint64_t{1} << 60, 3}),
            "seed 1152921504606846976: must be at most 9007199254740991");
}

TEST(Library, RefusesMissingAndRepeatedSeeds) {
  EXPECT_EQ(refusal({}), "0 seeds: must be 1 to 10000");
  EXPECT_EQ(refusal(std::vector<std::uint64_t>(10'001)), "10001 seeds: must be 1 to 10000");
  EXPECT_EQ(refusal({3, 1, 3}), "seed 3 is given twice");
}

// One to explore and one to evaluate in; the configuration is checked without another.
TEST(Library, TrainingMakesTwoEnvironments) {
  const TemporaryFolder folder;
  Task task = find_task("GridChaos-v0");
  task.name = "Counted-v0";
  task.presets.clear();
  int made = 0;
  task.make = [&made, make = task.make](const OptionValues& options) {
    ++made;
    return make(options);
  };
  register_task(task);
  Training training;
  training.task = task.name;
  training.algorithm = "sac";
  training.settings = {"train.batch=1", "train.warmup_steps=10", "train.steps_per_epoch=5",
                       "network.hidden=[2]"};
  training.steps = 18;  // two epochs and the warm-up
  training.folder = (folder.path() / "run").string();
  std::vector<std::string> notes;
  training.note = [&](const std::string& text) { notes.push_back(text); };
  const auto results = train(training);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(made, 2);
  ASSERT_FALSE(notes.empty());
  EXPECT_EQ(notes.front(),
            "2 epochs of 5 steps: 20 steps with the warm-up; evaluated for 100 steps after the "
            "last epoch (10 times the training's steps)");

  training.steps = 24;
  EXPECT_EQ(resume(training).size(), 1u);
  EXPECT_EQ(notes.back().substr(0, 18), "3 epochs of 5 step");
  training.epochs = 4;
  EXPECT_THROW(resume(training), InputError);  // both lengths
}

TEST(Library, RefusesSettingsWithMembersOfTheirOwn) {
  const TemporaryFolder folder;
  Training training;
  training.task = "GridChaos-v0:s";
  training.folder = (folder.path() / "run").string();
  const auto words = [&] { return message_of([&] { train(training); }); };
  training.settings = {"run.seed=7"};
  EXPECT_EQ(words(), "settings: run.seed cannot be set here: use Training::seeds");
  training.settings = {};
  training.folder = "";
  EXPECT_EQ(words(), "a run needs a folder with a name");
  EXPECT_TRUE(folder.names().empty());
}

Training small_training(const std::filesystem::path& folder) {
  Training training;
  training.task = "GridChaos-v0:s";
  training.seeds = {3, 4};
  training.settings = {"train.epochs=6", "train.batch=16", "train.warmup_steps=40",
                       "train.steps_per_epoch=20", "network.hidden=[8]"};
  training.folder = folder.string();
  training.threads = 2;
  return training;
}

std::string contents(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Library, ReportsEveryEpoch) {
  const TemporaryFolder folder;
  Training training = small_training(folder.path() / "run");
  int next[2] = {0, 0};
  training.progress = [&](const TrainingProgress& now) {
    EXPECT_EQ(now.epoch, next[now.seed - 3]++);
    EXPECT_EQ(now.epochs, 6);
    EXPECT_EQ(now.updates, 20 * (now.epoch + 1));
    EXPECT_EQ(now.env_steps, 40 + 20 * (now.epoch + 1));
    EXPECT_TRUE(std::isfinite(now.eval_return_mean) && std::isfinite(now.eval_success));
    EXPECT_GT(now.seconds, 0);
  };
  EXPECT_EQ(train(training).size(), 2u);
  EXPECT_EQ(next[0], 6);
  EXPECT_EQ(next[1], 6);
}

TEST(Library, ResumeIsBitIdentical) {
  const TemporaryFolder folder;
  const auto whole = train(small_training(folder.path() / "whole"));

  Training training = small_training(folder.path() / "stopped");
  std::atomic<bool> stop{false};
  training.stop = &stop;
  training.progress = [&](const TrainingProgress& now) { stop = now.epoch >= 2; };
  EXPECT_TRUE(train(training).empty());

  training.stop = nullptr;
  training.progress = {};
  const auto resumed = resume(training);
  ASSERT_EQ(resumed.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(resumed[i].score, whole[i].score);
    EXPECT_EQ(contents(resumed[i].policy), contents(whole[i].policy));
  }
}

TEST(Library, ExceptionOfTheListenerEndsTheTraining) {
  const TemporaryFolder folder;
  Training training = small_training(folder.path() / "run");
  training.progress = [](const TrainingProgress&) { throw Error("enough"); };
  EXPECT_THROW(train(training), Error);
  training.progress = {};
  EXPECT_EQ(resume(training).size(), 2u);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
