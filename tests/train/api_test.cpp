// Training from within a program (ovde/train.h).
#include <gtest/gtest.h>

#include <ovde/error.h>
#include <ovde/train.h>
#include "temporary_folder.h"

namespace ovde {
namespace {

std::string refusal(const std::vector<std::uint64_t>& seeds) {
  const TemporaryFolder folder;
  Training training;
  training.task = "GridChaos-v0:s";
  training.algorithm = "sac";
  training.seeds = seeds;
  training.settings = {"train.epochs=1", "train.batch=1", "train.warmup_steps=1",
                       "train.steps_per_epoch=1", "network.hidden=[2]"};
  training.folder = (folder.path() / "run").string();
  std::string words = "none";
  try {
    train(training);
  } catch (const InputError& error) {
    words = error.what();
    EXPECT_TRUE(folder.names().empty());
  }
  return words;
}

TEST(Library, SeedsThatCouldNotBeReadBackAreRefused) {
  constexpr std::uint64_t kLargest = (std::uint64_t{1} << 53) - 1;
  EXPECT_EQ(refusal({0, kLargest}), "none");
  EXPECT_EQ(refusal({kLargest + 1}), "seed 9007199254740992: must be at most 9007199254740991");
  EXPECT_EQ(refusal({std::uint64_t{1} << 60, 3}),
            "seed 1152921504606846976: must be at most 9007199254740991");
}

TEST(Library, SeedsMustBeSomeAndEachOnce) {
  EXPECT_EQ(refusal({}), "0 seeds: must be 1 to 10000");
  EXPECT_EQ(refusal(std::vector<std::uint64_t>(10'001)), "10001 seeds: must be 1 to 10000");
  EXPECT_EQ(refusal({3, 1, 3}), "seed 3 is given twice");
}

TEST(Library, WhatTheSettingsCannotSayIsRefused) {
  const TemporaryFolder folder;
  Training training;
  training.task = "GridChaos-v0:s";
  training.folder = (folder.path() / "run").string();
  const auto words = [&] {
    try {
      train(training);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  training.settings = {"run.seed=7"};
  EXPECT_EQ(words(), "settings: run.seed is not one of them: Training::seeds has the seeds");
  training.settings = {};
  training.folder = "";
  EXPECT_EQ(words(), "a run needs a folder with a name");
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace ovde
