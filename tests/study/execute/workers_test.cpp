// Several processes, or threads in their place, on one study's folder.
#include <chrono>
#include <csignal>
#include <thread>

#include <sys/wait.h>

#include <gtest/gtest.h>

#include "base/version.h"
#include "io/files.h"
#include "run/run_lock.h"
#include "study/execute/cell_locks.h"
#include "study/execute/run_small_study.h"
#include "temporary_folder.h"
#include "train/stand_in_population.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

TEST(SlowWorkers, RunEveryCellOnce) {
  const TemporaryFolder folder;
  run(small_plan(), folder.path() / "alone");
  for (const bool on_gpu : {false, true}) {
    const fs::path out = folder.path() / (on_gpu ? "gpu" : "cpu");
    constexpr int kWorkers = 3;
    CountingSink sinks[kWorkers];
    StandInFaults faults[kWorkers];
    int finished[kWorkers] = {};
    {
      std::vector<std::jthread> workers;
      for (int i = 0; i < kWorkers; ++i) {
        workers.emplace_back([&, i] {
          StudyRequest request{.plan = small_plan(), .out = out};
          if (on_gpu) request.gpu = stand_in(faults[i]);
          finished[i] = run_study(request, sinks[i]).finished;
        });
      }
    }
    int started = 0, epochs = 0;
    for (int i = 0; i < kWorkers; ++i) {
      EXPECT_EQ(finished[i], 4);  // each has waited for the others
      started += sinks[i].started;
      epochs += sinks[i].epochs;
    }
    EXPECT_EQ(started, 4);
    EXPECT_EQ(epochs, 4 * 2 * 4);
    EXPECT_EQ(all_returns(out), all_returns(folder.path() / "alone"));
    EXPECT_FALSE(fs::exists(out / "locks"));
  }
}

TEST(SlowWorkers, ManyOnTinyCellsRunEachOnce) {
  std::string text = SmallStudy{.rows = {}, .columns = {}}.text();
  for (int i = 0; i < 40; ++i) {
    const std::string number = std::to_string(i);
    text += "[[row]]\nname = \"r" + number + "\"\ntask = \"GridChaos-v0:a\"\nseeds = [" + number +
            "]\n";
  }
  text += "[[column]]\nalgorithm = \"sac\"\n";
  Plan plan = parse_plan(text, "tiny.toml");
  plan.length = Length::epochs(1);
  ASSERT_EQ(distinct_cells(plan).size(), 40u);

  const TemporaryFolder folder;
  constexpr int kWorkers = 16;
  CountingSink sinks[kWorkers];
  {
    std::vector<std::jthread> workers;
    for (CountingSink& sink : sinks) {
      workers.emplace_back(
          [&] { EXPECT_EQ(run_study({.plan = plan, .out = folder.path()}, sink).finished, 40); });
    }
  }
  int started = 0;
  for (const CountingSink& sink : sinks) started += sink.started;
  EXPECT_EQ(started, 40);
}

TEST(SlowWorkers, WarnOfAnotherProcessor) {
  struct Listener : StudySink {
    void warning(const std::string& text) override { warnings.push_back(text); }
    std::vector<std::string> warnings;
  } sink;
  const TemporaryFolder folder;
  run_study({.plan = small_plan(), .out = folder.path(), .cells = "0"}, sink);
  run_study({.plan = small_plan(), .out = folder.path(), .cells = "0"}, sink);
  EXPECT_TRUE(sink.warnings.empty());
  write_file_atomically(folder.path() / "processor.txt", std::string("Z80\n"));
  run_study({.plan = small_plan(), .out = folder.path(), .cells = "0"}, sink);
  EXPECT_EQ(sink.warnings.size(), is_native_build() ? 1u : 0u);
}

// A worker that does not wait leaves one cell to another process.
void expect_one_left(const fs::path& study) {
  StudySink silent;
  const StudyOutcome outcome =
      run_study({.plan = small_plan(), .out = study, .wait = false}, silent);
  EXPECT_EQ(outcome.finished, 3);
  EXPECT_EQ(outcome.elsewhere, 1);
  EXPECT_TRUE(outcome.failures.empty());
}

TEST(SlowWorkers, NoWaitDoesNotWait) {
  const TemporaryFolder folder;
  CellLocks other(folder.path(), false);
  ASSERT_EQ(other.take("a/DSAC").outcome, CellLocks::Outcome::taken);
  expect_one_left(folder.path());
  EXPECT_FALSE(fs::exists(folder.path() / "a/DSAC"));
}

// A process that died on another machine: its cell is refused until somebody takes it over.
TEST(SlowWorkers, RefuseCellsInDoubtUntilTakenOver) {
  const TemporaryFolder folder;
  const auto forge = [&] {
    make_folder(folder.path() / "locks");
    write_file_atomically(folder.path() / "locks/a@DSAC",
                          std::string("host n7\nboot x\nnamespace y\npid 12\nstarted 3\njob \n"
                                      "restarts 0\ndeaths 0\n"));
  };
  forge();
  StudySink silent;
  StudyRequest request{.plan = small_plan(), .out = folder.path()};
  const StudyOutcome outcome = run_study(request, silent);
  EXPECT_EQ(outcome.finished, 3);
  ASSERT_EQ(outcome.failures.size(), 1u);
  EXPECT_TRUE(outcome.failures[0].in_doubt);
  expect_words(outcome.failures[0].why, {"n7 (pid 12)"});
  EXPECT_FALSE(fs::exists(folder.path() / "a/DSAC"));
  request.take_over = true;
  EXPECT_EQ(run_study(request, silent).finished, 4);
  EXPECT_FALSE(fs::exists(folder.path() / "locks"));

  // the process died after it had finished the cell
  forge();
  EXPECT_EQ(run_study(request, silent).finished, 4);
  EXPECT_FALSE(fs::exists(folder.path() / "locks"));
}

// `ovde train` locks the run and not the cell.
TEST(SlowWorkers, SkipRunsOfAnotherProgram) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "a/DSAC");
  const RunLock lock(folder.path() / "a/DSAC");
  expect_one_left(folder.path());
}

// The kernel may release the lock of a killed process's cell a moment before that of its run.
TEST(SlowWorkers, RetryAReleasedRunSoon) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "a/DSAC");
  std::optional<RunLock> lock(folder.path() / "a/DSAC");
  const std::jthread holder([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    lock.reset();
  });
  StudySink silent;
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(run_study({.plan = small_plan(), .out = folder.path()}, silent).finished, 4);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
}

pid_t start_worker(const std::string& file, const std::string& out, const std::string& log) {
  return start_study({"work", file, "--out", out, "--threads", "1"}, log);
}

int count(const std::string& text, const std::string& words) {
  int found = 0;
  for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
  return found;
}

// One of two processes is killed at different moments of the study; the other continues its cell,
// and no cell is finished twice.
TEST(SlowWorkers, CellsOfAKilledProcessAreFinished) {
  const TemporaryFolder folder;
  run(small_plan(), folder.path() / "whole");
  const auto whole = all_returns(folder.path() / "whole");
  const std::string file = folder.path() / "small.toml";
  write_file_atomically(file, SmallStudy().text());

  const auto began = std::chrono::steady_clock::now();
  for (const pid_t worker : {start_worker(file, folder.path() / "timed", "/dev/null"),
                             start_worker(file, folder.path() / "timed", "/dev/null")})
    ::waitpid(worker, nullptr, 0);
  auto takes = std::chrono::steady_clock::now() - began;

  int kills = 0;
  for (int round = 0; round < 60 && kills < 25; ++round) {
    const fs::path out = folder.path() / std::to_string(round);
    const std::string log = out.string() + ".log";
    const pid_t killed = start_worker(file, out, log), survivor = start_worker(file, out, log);
    std::this_thread::sleep_for(takes * (1 + round * 11 % 25) / 25);
    ::kill(killed, SIGKILL);
    int status = 0;
    ::waitpid(killed, &status, 0);
    const bool in_time = WIFSIGNALED(status);
    kills += in_time;
    if (!in_time) takes = takes * 9 / 10;
    ::waitpid(survivor, &status, 0);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(all_returns(out), whole);
    // a process that was killed just after it had finished a cell has not printed that
    const std::string printed = read_file(log);
    const int own = count(printed, ": finished in "),
              others = count(printed, ": finished by another");
    EXPECT_LE(own, 4) << printed;
    EXPECT_GE(own + others, 4) << printed;
    // where the survivor was gone before the other was killed, the next one removes what is left
    if (fs::exists(out / "locks")) ::waitpid(start_worker(file, out, log), &status, 0);
    EXPECT_FALSE(fs::exists(out / "locks"));
  }
  EXPECT_GE(kills, 25);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
