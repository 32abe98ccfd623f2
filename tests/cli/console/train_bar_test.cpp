#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "cli/console/train_bar.h"
#include "run/progress_csv.h"
#include "temporary_folder.h"
#include "train/run_length.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

// Collects the output.
class Console {
 public:
  Console() : file_(std::tmpfile(), &std::fclose) {}
  std::FILE* file() { return file_.get(); }
  std::string text() {
    std::string text(static_cast<std::size_t>(std::ftell(file())), '\0');
    std::rewind(file());
    EXPECT_EQ(std::fread(text.data(), 1, text.size(), file()), text.size());
    return text;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

RunPlan plan_of(std::vector<std::uint64_t> seeds, int epochs) {
  RunPlan plan;
  plan.config.task = "GridChaos-v0:s";
  plan.config.algorithm = "ovde_g";
  plan.config.train.epochs = epochs;
  plan.config.train.eval_steps = 500;
  plan.config.horizon = 1000;
  plan.seeds = std::move(seeds);
  plan.folder = "runs/x";
  return plan;
}

EpochRow row_of(int epoch, double eval_return, double success) {
  EpochRow row;
  row.epoch = epoch;
  row.eval_return_mean = eval_return;
  row.eval_success = success;
  return row;
}

std::string run(const ConsoleStyle& style, int epochs) {
  Console console;
  const auto progress = console_progress(console.file(), style);
  progress->run_started(plan_of({0}, epochs), 0);
  for (int epoch = 0; epoch < epochs; ++epoch) progress->epoch_done(0, row_of(epoch, epoch, 0.5));
  RunSummary summary;
  summary.score = 42;
  summary.first_goal_epoch_eval = 3;
  progress->run_finished(std::vector{summary});
  return console.text();
}

TEST(TrainBar, APipeGetsFewPlainLines) {
  const std::string text = run({.line_seconds = 1000}, 500);
  // start (two), first epoch, last epoch, choice of the best policy, result
  EXPECT_EQ(std::ranges::count(text, '\n'), 6);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\r'), std::string::npos);
  expect_words(text, {"ovde_g on GridChaos-v0:s, seed 0, into runs/x\n500 epochs of 100 steps: "
                      "51,000 steps with the warm-up; evaluated for 500 steps after every epoch "
                      "(5 times the training's steps)\n",
                      "epoch   1/500", "epoch 500/500  return  499.0  goal  50%",
                      "\nplaying episodes of up to 1000 steps to choose the best policy\n",
                      "score 42.0, goal first reached in epoch 4, in runs/x\n"});
}

TEST(TrainBar, TheBarFitsTheTerminal) {
  for (const int width : {20, 60, 80, 120}) {
    const std::string text = run({.bar = true, .width = width, .draw_seconds = 0}, 30);
    EXPECT_EQ(std::ranges::count(text, '\n'), 3) << width;  // start and result
    std::size_t from = text.find('\r');
    while ((from = text.find('\r', from)) != std::string::npos) {
      const std::size_t end = text.find("\x1b[K", ++from);
      ASSERT_NE(end, std::string::npos);
      EXPECT_LT(end - from, static_cast<std::size_t>(width));
    }
  }
  EXPECT_NE(run({.bar = true, .width = 80, .draw_seconds = 0}, 30).find("[###"), std::string::npos);
}

TEST(TrainBar, ColourIsOptional) {
  EXPECT_EQ(run({.bar = true, .colour = false, .unicode = true}, 3).find("\x1b[32m"),
            std::string::npos);
  EXPECT_NE(run({.bar = true, .colour = true, .unicode = true, .width = 120}, 3).find("\x1b[32m"),
            std::string::npos);
}

TEST(TrainBar, APopulationShowsMeans) {
  Console console;
  const auto progress = console_progress(console.file(), {.line_seconds = 0});
  progress->run_started(plan_of({10, 11}, 2), 0);
  for (int epoch = 0; epoch < 2; ++epoch) {
    progress->epoch_done(0, row_of(epoch, 10, 0));
    progress->epoch_done(1, row_of(epoch, 20, 1));
  }
  RunSummary low, high;
  low.score = 10;
  high.score = 20;
  high.first_goal_epoch_eval = 0;
  progress->run_finished(std::vector{low, high});
  const std::string text = console.text();
  expect_words(text, {"2 agents (seeds 10 to 11)", "epoch 2/2  return   15.0  goal  50%",
                      "score 15.0 on average (from 10.0 to 20.0), goal reached by 1 of 2"});
}

TEST(TrainBar, TheStartNamesTheSmallestAndTheLargestSeed) {
  Console console;
  console_progress(console.file(), {})->run_started(plan_of({5, 3, 9}, 2), 0);
  expect_words(console.text(), {"3 agents (seeds 3 to 9)"});
}

TEST(TrainBar, TheStartTellsOfAConstantLearningRateAtTheEnd) {
  RunPlan plan = plan_of({0}, 9);
  plan.config.train.adam.learning_rate_end = 5e-5f;
  for (const int fall : {6, 9}) {
    plan.config.train.learning_rate_epochs = fall;
    Console console;
    console_progress(console.file(), {})->run_started(plan, 0);
    EXPECT_EQ(
        console.text().find("after epoch 6 the learning rate stays at 5e-05") == std::string::npos,
        fall == 9);
  }
}

TEST(TrainBar, ANewRunTellsItsDurationOnce) {
  Console console;
  const auto progress = console_progress(console.file(), {.bar = true, .width = 80});
  progress->run_started(plan_of({0}, 1200), 0);
  progress->warming_up(0, 1000, 1000);
  progress->epoch_done(0, row_of(0, 1, 0.5));  // too short to be measured
  EXPECT_EQ(console.text().find("about"), std::string::npos);
  std::this_thread::sleep_for(std::chrono::milliseconds(1010));
  for (int epoch = 1; epoch < 4; ++epoch) progress->epoch_done(0, row_of(epoch, 1, 0.5));
  const std::string text = console.text();
  // two epochs in little more than a second
  expect_words(text, {"about 10 minutes (19"});
  EXPECT_EQ(text.find("about"), text.rfind("about"));
}

TEST(TrainBar, APopulationIsTimedAfterTheFirstEpochOfEveryAgent) {
  const RunPlan plan = plan_of({0, 1}, 100);
  DurationEstimate estimate(plan, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(1010));
  for (int epoch = 0; epoch < 3; ++epoch) EXPECT_FALSE(estimate.epoch_done()) << epoch;
  std::this_thread::sleep_for(std::chrono::milliseconds(1010));
  // four epochs in two seconds would be 400 steps a second; two in one second are 200
  EXPECT_EQ(estimate.epoch_done().value_or("").substr(0, 17), "about 2 minutes (");
  DurationEstimate resumed(plan, 3);
  std::this_thread::sleep_for(std::chrono::milliseconds(1010));
  for (int epoch = 0; epoch < 5; ++epoch) EXPECT_FALSE(resumed.epoch_done());
}

TEST(TrainBar, APartialEpochIsNotTimed) {
  Console console;
  const auto progress = console_progress(console.file(), {.line_seconds = 0});
  progress->run_started(plan_of({0}, 10), 7);
  progress->epoch_done(0, row_of(7, 1, 0.5));
  EXPECT_EQ(console.text().find("updates/s"), std::string::npos);
  progress->epoch_done(0, row_of(8, 1, 0.5));
  EXPECT_NE(console.text().find("updates/s"), std::string::npos);
}

TEST(TrainBar, AResumedRunTellsItsCheckpointAndItsLastReturn) {
  const TemporaryFolder folder;
  ProgressFile(folder.path(), std::vector{row_of(0, 12.5, 1), row_of(1, EpochRow::kNone, 1)});
  RunPlan plan = plan_of({0}, 10);
  plan.folder = folder.path();
  plan.is_new = false;
  Console console;
  const auto progress = console_progress(console.file(), {.line_seconds = 0});
  progress->run_started(plan, 2);
  progress->epoch_done(0, row_of(2, EpochRow::kNone, EpochRow::kNone));
  expect_words(console.text(), {"\ncontinues after epoch 2 of 10, its last checkpoint\n",
                                "epoch  3/10  return   12.5  goal 100%"});
}

TEST(TrainBar, TasksWithoutAGoalShowNone) {
  Console console;
  const auto progress = console_progress(console.file(), {});
  progress->run_started(plan_of({0}, 1), 0);
  progress->epoch_done(0, row_of(0, 5, EpochRow::kNone));
  progress->run_finished(std::vector<RunSummary>(1));
  EXPECT_EQ(console.text().find("goal"), std::string::npos);
}

TEST(TrainBar, AFailureLeavesTheCursorBelowTheBar) {
  Console console;
  {
    const auto progress = console_progress(console.file(), {.bar = true});
    progress->run_started(plan_of({0}, 9), 0);
    progress->epoch_done(0, row_of(0, 5, 0));
  }
  EXPECT_EQ(console.text().back(), '\n');
}

TEST(TrainBar, ThreadsMayReportConcurrently) {
  Console console;
  const auto progress = console_progress(console.file(), {.line_seconds = 0});
  progress->run_started(plan_of({0, 1, 2, 3}, 50), 0);
  std::vector<std::thread> threads;
  for (int agent = 0; agent < 4; ++agent) {
    threads.emplace_back([&, agent] {
      for (int epoch = 0; epoch < 50; ++epoch) progress->epoch_done(agent, row_of(epoch, 1, 1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string text = console.text();
  EXPECT_EQ(std::ranges::count(text, '\n'), 203);
  expect_words(text, {"epoch 50/50"});
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
