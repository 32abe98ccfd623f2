// Running a plan: finished cells are skipped, interrupted ones continue to the same result, and a
// cell that fails does not stop the others.
#include "study/execute/run_study.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <map>
#include <thread>

#include <sys/wait.h>

#include <gtest/gtest.h>

#include <ovde/error.h>
#include "io/files.h"
#include "run/run_lock.h"
#include "study/execute/cell_locks.h"
#include "study/execute/run_small_study.h"
#include "study/plan/study_record.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

// An unfinished study is compared after the same number of epochs of all runs.
TEST(SlowRunStudy, FirstEpochsOfUnfinishedRunsCount) {
  const TemporaryFolder folder;
  Plan plan = small_plan();
  plan.rows[0].length = Length::epochs(2);
  run(plan, folder.path() / "whole");
  StoppingSink stopper(8 + 6);  // all of a, then three of both seeds of b, in turns
  StudyRequest request{.plan = plan, .out = folder.path() / "cut", .stop = &stopper.stop};
  EXPECT_TRUE(run_study(request, stopper).stopped);

  const StudyResults whole = read_results(plan, folder.path() / "whole"),
                     cut = read_results(plan, folder.path() / "cut", 3),
                     first = read_results(plan, folder.path() / "whole", 3);
  EXPECT_TRUE(read_results(plan, folder.path() / "cut").find("b", "DSAC").runs.empty());
  EXPECT_EQ(cut.find("a", "OVDE").runs.size(), 2u);  // has two epochs in the plan
  const CellResult& b = cut.find("b", "DSAC");
  ASSERT_EQ(b.runs.size(), 2u);
  EXPECT_EQ(b.cell.epochs, 3);
  auto expected = whole.find("b", "DSAC").runs[0].returns;
  expected.resize(3);
  EXPECT_EQ(b.runs[0].returns, expected);
  EXPECT_EQ(b.runs[0].score, first.find("b", "DSAC").runs[0].score);
  EXPECT_EQ(cut.unfinished, std::vector<std::string>{"2 runs of b / DSAC: at least epoch 3 of 4"});
  EXPECT_TRUE(first.unfinished.empty());
}

TEST(SlowRunStudy, RunsEveryCellAndSkipsItTheNextTime) {
  const TemporaryFolder folder;
  CountingSink first, second;
  const StudyRequest request{.plan = small_plan(), .out = folder.path() / "study"};
  const StudyOutcome outcome = run_study(request, first);
  EXPECT_EQ(outcome.cells, 4);
  EXPECT_EQ(outcome.finished, 4);
  EXPECT_TRUE(outcome.failures.empty());
  EXPECT_EQ(first.epochs, 4 * 2 * 4);

  EXPECT_EQ(run_study(request, second).finished, 4);
  EXPECT_EQ(second.started, 0);
}

// Runs side by side slow each other down, and a machine may become slower over time.
TEST(SlowRunStudy, RuntimeStudiesTakeTurns) {
  class Order final : public StudySink {
   public:
    void study_started(const StudyStart& start) override { jobs = start.jobs; }
    void cell_started(const Cell& cell) override { cells += cell.row + cell.column[0] + " "; }
    int jobs = 0;
    std::string cells;
  };
  const TemporaryFolder folder;
  StudyRequest request{.plan = small_plan(), .out = folder.path() / "scores", .threads = 4};
  Order scores, runtimes;
  run_study(request, scores);
  EXPECT_EQ(scores.jobs, 2);
  request.out = folder.path() / "runtimes";
  request.plan.measures = {"runtime"};
  EXPECT_EQ(run_study(request, runtimes).finished, 4);
  EXPECT_EQ(runtimes.jobs, 1);
  EXPECT_EQ(runtimes.cells, "aD aO bD bO aD aO bD bO ");
  EXPECT_EQ(all_returns(folder.path() / "runtimes"), all_returns(folder.path() / "scores"));

  request.out = folder.path() / "cut";
  StoppingSink stopper(4 * 4 + 5);  // in the second turn
  request.stop = &stopper.stop;
  EXPECT_TRUE(run_study(request, stopper).stopped);
  request.stop = nullptr;
  EXPECT_EQ(run_study(request, runtimes).finished, 4);
  EXPECT_EQ(all_returns(folder.path() / "cut"), all_returns(folder.path() / "scores"));
}

// The example that docs/studies.md points at, and the plan of docs/results/easy_gridchaos.
TEST(SlowRunStudy, ExampleStudiesResolve) {
  for (const char* name : {"small_study", "easy_gridchaos"}) {
    const Plan plan =
        read_plan(fs::path(OVDE_SOURCE_DIR) / "configs" / (std::string(name) + ".toml"));
    const std::vector<Cell> cells = expand(plan);
    EXPECT_EQ(cells.size(), 6u) << name;
    for (const Cell& cell : cells) EXPECT_NO_THROW(resolve_config(cell.settings)) << name;
  }
}

TEST(SlowRunStudy, JobsSideBySideGiveTheSameResults) {
  const TemporaryFolder folder;
  run(small_plan(), folder.path() / "one", 1);
  run(small_plan(), folder.path() / "three", 3);
  const auto returns = all_returns(folder.path() / "one");
  EXPECT_EQ(returns.size(), 8u);
  EXPECT_EQ(returns, all_returns(folder.path() / "three"));
}

TEST(SlowRunStudy, SurvivesAFailedCellAndTriesItAgain) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "study";
  fs::create_directories(out / "a");
  std::ofstream(out / "a" / "DSAC") << "a file where a folder should be";
  const StudyOutcome outcome = run(small_plan(), out);
  EXPECT_EQ(outcome.finished, 3);
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_EQ(outcome.failures[0].row, "a");
  EXPECT_EQ(outcome.failures[0].column, "DSAC");

  fs::remove(out / "a" / "DSAC");
  EXPECT_EQ(run(small_plan(), out).finished, 4);
}

// Why the plan is refused in this folder.
std::string refusal(const Plan& plan, const fs::path& out) {
  try {
    run(plan, out);
  } catch (const PlanConflict& error) {
    return error.what();
  }
  return "not refused";
}

TEST(SlowRunStudy, RunsOfOtherSettingsAreNotCounted) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "study";
  run(small_plan(), out);
  Plan shorter = small_plan();
  shorter.length = Length::epochs(3);
  expect_words(refusal(shorter, out),
               {"train.epochs = 3, was 4 in a/DSAC, a/OVDE, b/DSAC and 1 more"});
  const auto finished = [&](const Plan& plan) {
    const Cell cell = expand(plan)[0];
    return is_cell_finished(out, cell, resolve_config(cell.settings));
  };
  EXPECT_THROW(finished(shorter), InputError);
  EXPECT_TRUE(finished(small_plan()));
  const StudyResults results = read_results(shorter, out);
  EXPECT_TRUE(results.cells[0].runs.empty());
  EXPECT_EQ(results.notes.size(), 4u);
}

// All files of a folder with their contents.
std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> out;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    out[entry.path().string()] = entry.is_regular_file() ? read_file(entry.path()) : "";
  return out;
}

Plan with_setting(const std::string& column, const std::string& key, OptionValue value) {
  Plan plan = small_plan();
  std::ranges::find(plan.columns, column, &PlanColumn::name)
      ->settings.push_back({key, std::move(value), "test"});
  return plan;
}

// Also where the cells that differ have not started: other processes may be about to run them.
TEST(SlowRunStudy, AnotherPlanIsRefusedAndTouchesNothing) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "study";
  StudySink silent;
  run_study({.plan = small_plan(), .out = out, .cells = "a/DSAC"}, silent);
  const auto before = contents(out);
  expect_words(refusal(with_setting("OVDE", "explore.alpha", 0.5), out),
               {"has another plan", "explore.alpha = 0.5", "in a/OVDE, b/OVDE.",
                "rows, columns, seeds and epochs"});
  Plan other_task = small_plan();
  other_task.rows[1].task = "GridChaos-v0:c";
  expect_words(refusal(other_task, out), {"run.task", "in b/DSAC, b/OVDE"});
  EXPECT_EQ(contents(out), before);

  // the record of an earlier version has no cells: the runs decide
  write_file_atomically(out / "record.toml", std::string("smoke = false\n"));
  expect_words(refusal(with_setting("DSAC", "train.batch", 16.0), out),
               {"train.batch = 16, was 8 in a/DSAC."});
  EXPECT_EQ(run(with_setting("OVDE", "explore.alpha", 0.5), out).finished, 4);
}

TEST(SlowRunStudy, APlanMayExtendTheStudy) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "study";
  Plan first = small_plan();
  first.rows.pop_back();
  first.columns.pop_back();
  run(first, out);
  Plan larger = small_plan();
  larger.seeds = {0, 1, 2};
  larger.length = Length::epochs(5);
  EXPECT_EQ(run(larger, out).finished, 4);
  // a part of the plan is no conflict, a shorter training is
  Plan part = larger;
  part.rows.pop_back();
  part.seeds = {1};
  EXPECT_EQ(run(part, out).finished, 2);
  expect_words(refusal(first, out), {"train.epochs = 4, was 5 in a/DSAC."});
}

// Its plan was extended while it ran: the cells of the others stay as they are.
TEST(SlowRunStudy, AProcessWithAnEarlierPlanSpoilsNoCell) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "study";
  Plan longer = small_plan();
  longer.length = Length::epochs(6);
  class Extends final : public StudySink {
   public:
    Extends(const Plan& plan, const fs::path& out) : plan_(plan), out_(out) {}
    void study_started(const StudyStart&) override {
      StoppingSink stopper(3);
      const StudyRequest other{.plan = plan_, .out = out_, .stop = &stopper.stop};
      EXPECT_TRUE(run_study(other, stopper).stopped);
    }

   private:
    const Plan& plan_;
    fs::path out_;
  } extends(longer, out);
  const StudyOutcome outcome = run_study({.plan = small_plan(), .out = out}, extends);
  ASSERT_EQ(outcome.failures.size(), 1u);
  expect_words(outcome.failures[0].why, {"train.epochs = 4, was 6"});
  EXPECT_TRUE(read_cell_locks(out, {"a/DSAC"}).empty());
  EXPECT_EQ(run(longer, out).finished, 4);
  run(longer, folder.path() / "whole");
  EXPECT_EQ(all_returns(out, longer), all_returns(folder.path() / "whole", longer));
}

TEST(SlowRunStudy, ProcessesThatStartAtOnceAgreeOnOnePlan) {
  const TemporaryFolder folder;
  const Plan plans[] = {with_setting("DSAC", "train.batch", 8.0),
                        with_setting("DSAC", "train.batch", 16.0)};
  std::atomic<int> agreed[2] = {};
  {
    std::vector<std::jthread> processes;
    for (int i = 0; i < 8; ++i) {
      processes.emplace_back([&, i] {
        try {
          prepare_study({.plan = plans[i % 2], .out = folder.path()});
          ++agreed[i % 2];
        } catch (const PlanConflict&) {
        }
      });
    }
  }
  EXPECT_TRUE((agreed[0] == 4 && agreed[1] == 0) || (agreed[0] == 0 && agreed[1] == 4))
      << agreed[0] << " " << agreed[1];
}

TEST(SlowRunStudy, IncompleteRunsAreNotCounted) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "study";
  run(small_plan(), out);
  const fs::path file = out / "a" / "DSAC" / "seed_1" / "progress.csv";
  std::string text = read_file(file);
  text.resize(text.rfind('\n', text.size() - 2) + 1);  // the last row
  write_file_atomically(file, text);
  const StudyResults results = read_results(small_plan(), out);
  EXPECT_TRUE(results.find("a", "DSAC").runs.empty());
  EXPECT_EQ(results.find("a", "OVDE").runs.size(), 2u);
  ASSERT_EQ(results.notes.size(), 1u);
  expect_words(results.notes[0], {"has 3 of 4 epochs"});
}

TEST(SlowRunStudy, MoreSeedsRunOnlyTheNewOnes) {
  const TemporaryFolder folder;
  const fs::path grown = folder.path() / "grown", whole = folder.path() / "whole";
  run(small_plan(), grown);
  Plan more = small_plan();
  more.seeds = {0, 1, 2};
  CountingSink sink;
  const StudyOutcome outcome = run_study({.plan = more, .out = grown}, sink);
  EXPECT_EQ(outcome.finished, 4);
  EXPECT_EQ(sink.epochs, 4 * 1 * 4);

  run(more, whole);
  const auto returns = all_returns(grown, more);  // the first cell has 0 to 2
  ASSERT_EQ(returns.size(), 12u);
  EXPECT_EQ(returns, all_returns(whole, more));

  // fewer: nothing is left to do, and those that are asked for count
  Plan fewer = small_plan();
  fewer.seeds = {2, 0};
  CountingSink none;
  EXPECT_EQ(run_study({.plan = fewer, .out = grown}, none).finished, 4);
  EXPECT_EQ(none.started, 0);
  const StudyResults less = read_results(fewer, grown);
  ASSERT_EQ(less.cells[0].runs.size(), 2u);
  EXPECT_EQ(less.cells[0].runs[0].returns, returns[2]);
  // one of them, which alone would have had the folder to itself
  fewer.seeds = {1};
  EXPECT_EQ(run_study({.plan = fewer, .out = grown}, none).finished, 4);
  EXPECT_EQ(read_results(fewer, grown).cells[0].runs.at(0).returns, returns[1]);
}

TEST(SlowRunStudy, AStudyOfOneSeedGrowsToThree) {
  const TemporaryFolder folder;
  const fs::path grown = folder.path() / "grown", whole = folder.path() / "whole";
  Plan one = small_plan(), three = small_plan();
  one.seeds = {1};
  three.seeds = {0, 1, 2};
  run(one, grown);
  ASSERT_TRUE(fs::exists(grown / "a/DSAC/config.toml"));
  CountingSink sink;
  const StudyOutcome outcome = run_study({.plan = three, .out = grown}, sink);
  EXPECT_TRUE(outcome.failures.empty()) << outcome.failures[0].why;
  EXPECT_EQ(sink.epochs, 4 * 2 * 4);  // the one that was there is not run again
  EXPECT_TRUE(fs::exists(grown / "a/DSAC/seed_1/config.toml"));
  EXPECT_FALSE(fs::exists(grown / "a/DSAC/config.toml"));
  run(three, whole);
  EXPECT_EQ(all_returns(grown, three), all_returns(whole, three));
}

TEST(SlowRunStudy, AStudyIsTrainedForLonger) {
  const TemporaryFolder folder;
  const fs::path grown = folder.path() / "grown", whole = folder.path() / "whole";
  run(small_plan(), grown);
  Plan longer = small_plan();
  longer.length = Length::epochs(7);
  const StudyOutcome outcome = run(longer, grown);
  EXPECT_TRUE(outcome.failures.empty()) << outcome.failures[0].why;
  run(longer, whole);
  EXPECT_EQ(all_returns(grown, longer), all_returns(whole, longer));
  EXPECT_EQ(read_results(longer, grown).cells[0].runs.at(1).returns.size(), 7u);
}

TEST(SlowRunStudy, CheckpointAndRecordSettingsAreNotCompared) {
  const TemporaryFolder folder;
  const fs::path out = folder.path() / "study";
  run(small_plan(), out);
  Plan plan = small_plan();
  plan.settings.push_back({"checkpoint.minutes", 3.0, "test"});
  plan.settings.push_back({"record.visits", false, "test"});
  CountingSink sink;
  EXPECT_EQ(run_study({.plan = plan, .out = out}, sink).finished, 4);
  EXPECT_EQ(sink.started, 0);
  EXPECT_EQ(read_results(plan, out).cells[0].runs.size(), 2u);
}

// An earlier version locks the whole study.
TEST(SlowRunStudy, ALockOfAnEarlierVersionIsRefused) {
  const TemporaryFolder folder;
  const RunLock lock(folder.path());
  EXPECT_THROW(run(small_plan(), folder.path()), InputError);
}

TEST(SlowRunStudy, SmokeAndRealRunsDoNotShareAFolder) {
  const TemporaryFolder folder;
  const fs::path smoke = folder.path() / "smoke", real = folder.path() / "real";
  StudySink silent;
  const Plan small = smoke_plan(small_plan());
  EXPECT_EQ(run_study({.plan = small, .out = smoke}, silent).finished, 4);
  EXPECT_TRUE(is_smoke(smoke));
  EXPECT_THROW(run(small_plan(), smoke), InputError);
  run(small_plan(), real);
  EXPECT_THROW(run_study({.plan = small, .out = real}, silent), InputError);
  EXPECT_FALSE(is_smoke(real));
  EXPECT_TRUE(read_results(small_plan(), smoke).plan.smoke);
}

// Versions before the study's record marked smoke runs with a file.
TEST(SlowRunStudy, SmokeRunsOfEarlierVersionsAreRecognised) {
  const TemporaryFolder folder;
  EXPECT_FALSE(is_smoke(folder.path()));
  write_file_atomically(folder.path() / "smoke.txt", std::string("A smoke run\n"));
  EXPECT_TRUE(is_smoke(folder.path()));
  EXPECT_THROW(run(small_plan(), folder.path()), InputError);
}

TEST(SlowRunStudy, StopAndContinueGiveTheSameResult) {
  const TemporaryFolder folder;
  run(small_plan(), folder.path() / "whole");

  StoppingSink sink(3);
  const StudyRequest request{
      .plan = small_plan(), .out = folder.path() / "cut", .stop = &sink.stop};
  EXPECT_TRUE(run_study(request, sink).stopped);
  EXPECT_EQ(run(small_plan(), folder.path() / "cut").finished, 4);
  EXPECT_EQ(all_returns(folder.path() / "cut"), all_returns(folder.path() / "whole"));
}

TEST(ChosenCells, ByPlaceAndByFolder) {
  const auto folders = [](const std::string& selection) {
    std::vector<std::string> out;
    for (const Cell& cell : chosen_cells(small_plan(), selection)) out.push_back(cell.folder);
    return out;
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(folders("").size(), 4u);
  EXPECT_EQ(folders("1-2"), (Words{"a/OVDE", "b/DSAC"}));
  EXPECT_EQ(folders("b/OVDE,0"), (Words{"a/DSAC", "b/OVDE"}));
  EXPECT_EQ(folders("*/OVDE"), (Words{"a/OVDE", "b/OVDE"}));
  for (const char* wrong : {"4", "2-4", "c/*", "a", ",", "0,"})
    EXPECT_THROW(folders(wrong), InputError) << wrong;
}

// Starts the real program on a study and ends it after a while; whether it was still at work.
bool start_and_kill(const std::string& file, const std::string& out,
                    std::chrono::milliseconds after) {
  const pid_t child = start_study({"run", file, "--out", out, "--jobs", "2"});
  std::this_thread::sleep_for(after);
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status);
}

// Killed again and again at different moments of the study.
TEST(SlowRunStudy, KilledAtAnyInstantEndsAsIfNeverStopped) {
  const TemporaryFolder folder;
  run(small_plan(), folder.path() / "whole");
  const auto whole = all_returns(folder.path() / "whole");
  const std::string file = folder.path() / "small.toml";
  write_file_atomically(file, SmallStudy().text());

  int kills = 0;
  for (int round = 0; round < 40 && kills < 15; ++round) {
    const fs::path out = folder.path() / std::to_string(round);
    for (int i = 0; i < 4; ++i)
      kills += start_and_kill(file, out, std::chrono::milliseconds(2 + 5 * i + 3 * round));
    EXPECT_EQ(run(small_plan(), out, 2).finished, 4);
    EXPECT_EQ(all_returns(out), whole);
  }
  EXPECT_GE(kills, 15);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
