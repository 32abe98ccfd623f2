// Signals, full disks and runs that cannot be continued.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "base/host_name.h"
#include "cli/program.h"
#include "sanitizer.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

const std::string kOvde = std::string("'") + OVDE_PROGRAM + "' ";
const std::string kSaved =
    "train --task GridChaos-v0:s --algo ovde_g --threads 1 --set network.hidden=[16] "
    "--set train.batch=16 --set train.warmup_steps=50 --set train.steps_per_epoch=20 "
    "--set train.eval_steps=100 --set checkpoint.epochs=5 ";
const std::string kSavedRun = kSaved + "--out run ";

// Starts a run, waits until its progress.csv has `lines` lines including the header, and sends a
// signal.
std::string start_and_signal(const std::string& arguments, const std::string& run, int lines,
                             const std::string& signal) {
  return kOvde + arguments + " & pid=$!; " +
         wait_until("[ $(wc -l <" + run + "/progress.csv) -ge " + std::to_string(lines) + " ]") +
         "kill -" + signal + " $pid; wait $pid";
}

int lines_of(const std::filesystem::path& file) {
  return static_cast<int>(std::ranges::count(read_file(file), '\n'));
}

TEST(SlowFaults, SignalsSaveTheRun) {
  for (const std::string signal : {"INT", "TERM"}) {
    const Program program;
    const Outcome stopped =
        program.shell(start_and_signal(kSavedRun + "--epochs 100000", "run", 2, signal));
    EXPECT_EQ(stopped.code, 130) << stopped.err;
    expect_words(stopped.err, {"interrupted", "ovde train --resume run"});
    expect_words(program.run("status run").out, {"interrupted", "/100000"});
    EXPECT_TRUE(std::filesystem::exists(program.folder() / "run/checkpoints"));
  }
}

// SIGHUP saves the run, unless it is ignored (nohup).
TEST(SlowFaults, AClosedTerminalSavesTheRun) {
  const Program program;
  const Outcome stopped =
      program.shell(start_and_signal(kSavedRun + "--epochs 100000", "run", 2, "HUP"));
  EXPECT_EQ(stopped.code, 130) << stopped.err;
  expect_words(program.run("status run").out, {"interrupted", "/100000"});
  EXPECT_FALSE(std::filesystem::is_empty(program.folder() / "run/checkpoints"));

  const Program other;
  const Outcome ignoring =
      other.shell("trap '' HUP; " + kOvde + kSavedRun + "--epochs 100000 & pid=$!; " +
                  wait_until("[ $(wc -l <run/progress.csv) -ge 2 ]") + "kill -HUP $pid; " +
                  "lines=$(wc -l <run/progress.csv); " +
                  wait_until("[ $(wc -l <run/progress.csv) -ge $((lines + 20)) ]") +
                  "kill -0 $pid && kill -9 $pid");
  EXPECT_EQ(ignoring.code, 0) << ignoring.err;
}

TEST(SlowFaults, AClosedPipeSavesTheRun) {
  const Program program;
  const Outcome stopped = program.shell("{ " + kOvde + kSavedRun +
                                        "--epochs 100000; echo $? >code; } | head -c 1 >/dev/null");
  EXPECT_EQ(read_file(program.folder() / "code"), "130\n") << stopped.err;
  EXPECT_FALSE(std::filesystem::is_empty(program.folder() / "run/checkpoints"));
}

// A file opened with the number of a closed stream would receive the printed text.
TEST(SlowFaults, ClosedStandardStreamsDoNotCorruptFiles) {
  for (const std::string closed : {"<&- >&-", "<&- >&- 2>&-", ">&-", "2>&-"}) {
    const Program program;
    ASSERT_EQ(program.run(kSavedRun + "--epochs 5 " + closed).code, 0) << closed;
    const std::string lock = read_file(program.folder() / "run/lock");
    const auto end = lock.find_first_not_of("0123456789");
    EXPECT_EQ(lock.substr(end), "\n" + host_name() + "\n") << lock;
    const Outcome report = program.run("report run");
    EXPECT_EQ(report.code, 0) << closed << report.err;
  }
}

TEST(SlowFaults, APopulationNeedsFewOpenFiles) {
  const Program program;
  const Outcome many =
      program.shell("(ulimit -n 24; " + kOvde + kSavedRun + "--seeds 0-39 --epochs 1)");
  EXPECT_EQ(many.code, 0) << many.err;
}

TEST(SlowFaults, AFileSizeLimitIsAnError) {
  const Program program;
  ASSERT_EQ(program.run(kSavedRun + "--epochs 3").code, 0);
  const auto before = program.files();
  const Outcome full = program.shell("(ulimit -f 1; " + kOvde + "export run)");
  EXPECT_EQ(full.code, 1);
  expect_words(full.err, {"ovde: cannot write run/policy.h: File too large"});
  EXPECT_EQ(program.files(), before);
}

TEST(SlowFaults, AnAgentOfARunningPopulationCannotBeResumed) {
  const Program program;
  const Outcome second =
      program.shell("ln -s run/seed_0 link; " + kOvde + kSavedRun +
                    "--seeds 0-1 --epochs 100000 >out & pid=$!; " +
                    wait_until("[ $(wc -l <run/seed_1/progress.csv) -ge 3 ]") +
                    "for way in run/seed_0/ link link/; do " + kOvde +
                    "train --resume $way; echo $?; done; " + "kill -TERM $pid; wait $pid");
  EXPECT_EQ(second.out, "2\n2\n2\n");
  EXPECT_EQ(second.code, 130);
  const Outcome more = program.shell(
      start_and_signal("train --resume run", "run/seed_0",
                       lines_of(program.folder() / "run/seed_0/progress.csv") + 1, "INT"));
  expect_words(more.err, {"interrupted"});
}

TEST(SlowFaults, AColumnMayHaveTheNameOfAFile) {
  const Program program;
  std::string study =
      "epochs = 1\nseeds = \"0-1\"\nset = { train.steps_per_epoch = 30, "
      "task.horizon = 30 }\n[[row]]\ntask = \"GridChaos-v0\"\n";
  for (const std::string name : {"population.toml", "config.toml", "summary.json"})
    study += "[[column]]\nname = \"" + name +
             "\"\nalgorithm = \"sac\"\nset = { train.batch = " + std::to_string(10 + name.size()) +
             " }\n";
  write_file_atomically(program.folder() / "study.toml", study);
  ASSERT_EQ(program.run("study run study.toml --out out").code, 0);
  expect_words(program.run("study status study.toml --out out").out, {"3 of 3 cells finished"});
  // a heading; two agents and one line for the population in each of three cells
  EXPECT_EQ(std::ranges::count(program.run("status out").out, '\n'), 1 + 3 * (2 + 1));
  EXPECT_EQ(program.run("study run study.toml --out out").code, 0);
}

TEST(SlowFaults, ThePrintedResumeCommandWorks) {
  const Program program;
  const std::string folder = "\"it's a run\"";
  const Outcome stopped = program.shell(
      start_and_signal(kSaved + "--out " + folder + " --epochs 100000", folder, 2, "INT"));
  EXPECT_EQ(stopped.code, 130) << stopped.err;
  const auto at = stopped.err.find("train --resume ");
  ASSERT_NE(at, std::string::npos) << stopped.err;
  EXPECT_EQ(stopped.err.substr(at), "train --resume 'it'\\''s a run'\n");
  const int lines = lines_of(program.folder() / "it's a run/progress.csv");
  const Outcome again = program.shell(start_and_signal(
      stopped.err.substr(at, stopped.err.size() - 1 - at), folder, lines + 1, "INT"));
  expect_words(again.err, {"interrupted"});
}

// With this batch the one update of an epoch takes seconds, and the first signal waits for its end.
// When an epoch's row is written the next epoch has started; after another tenth of a second of CPU
// time it is in its update. Signals within 50 ms count as one, so they are sent until the process
// is gone.
TEST(SlowFaults, ASecondSignalEndsAtOnce) {
  if (kSanitizer == "thread") GTEST_SKIP() << "ThreadSanitizer delays signals";
  const Program program;
  const Outcome stopped = program.shell(
      kOvde + kSavedRun +
      "--set train.batch=3000 --set train.warmup_steps=3000 --set train.steps_per_epoch=1 "
      "--set train.eval_steps=1 --set task.horizon=1 --set network.hidden=[1024,1024] --epochs 9 & "
      "pid=$!; " +
      wait_until("[ $(wc -l <run/progress.csv) -ge 2 ]") +
      "ticks() { cut -d' ' -f14 /proc/$pid/stat; }; then=$(($(ticks) + 10)); " +
      wait_until("[ $(ticks) -ge $then ]") + wait_until("kill -TERM $pid; false") + "wait $pid");
  EXPECT_EQ(stopped.code, 130);
  EXPECT_EQ(stopped.err, "");
}

TEST(SlowFaults, ResumeIsBitIdentical) {
  const Program stopped, whole;
  const std::string train = kSavedRun + "--epochs 600";
  ASSERT_EQ(whole.run(train).code, 0);
  ASSERT_EQ(stopped.shell(start_and_signal(train, "run", 10, "TERM")).code, 130);
  ASSERT_EQ(stopped.run("train --resume run --threads 2").code, 0);
  const auto policy = [](const Program& program) {
    return read_file(program.folder() / "run/policy.safetensors");
  };
  EXPECT_TRUE(policy(stopped) == policy(whole));
}

TEST(SlowFaults, ResumeRefusesOtherOptions) {
  for (const char* more : {"--task GridChaos-v0", "--set train.batch=3", "--seed 1",
                           "--config x.toml", "--out other", "--algo sac"})
    expect_refusals({{std::string("train --resume run ") + more, {"--resume"}}});
  expect_refusals({{"train --resume nowhere", {"nowhere is not a folder"}}});
}

TEST(SlowFaults, AFileThatMayNotGrowStopsTheRun) {
  if (kSanitizer == "thread") GTEST_SKIP() << "ThreadSanitizer writes files itself";
  const Program program;
  const Outcome full =
      program.shell("(ulimit -f 60; " + kOvde + kSavedRun + "--epochs 100000)");  // blocks of 512
  EXPECT_EQ(full.code, 1);
  expect_words(full.err, {"ovde: cannot write run/", "File too large"});
  expect_words(program.run("status run").out, {"failed", "File too large"});
}

TEST(SlowFaults, ARunOnAFullDiskCanBeResumed) {
  const Program program;
  const std::string disk = "mkdir -p disk && mount -t tmpfs -o size=600k none disk";
  if (geteuid() != 0 || program.shell(disk).code != 0)
    GTEST_SKIP() << "needs a file system of its own";
  const Outcome full = program.run(kSaved + "--out disk/run --epochs 100000");
  EXPECT_EQ(full.code, 1) << full.err;
  expect_words(full.err, {"ovde: cannot write disk/run/", "No space left on device"});

  const int lines = lines_of(program.folder() / "disk/run/progress.csv");
  const Outcome again =
      program.shell("mount -o remount,size=60m none disk; " +
                    start_and_signal("train --resume disk/run", "disk/run", lines + 1, "INT"));
  expect_words(again.err, {"interrupted"});
  program.shell("umount disk");
}

TEST(SlowFaults, StatusIsATable) {
  const Program program;
  ASSERT_EQ(program.run(kSavedRun + "--epochs 3").code, 0);
  ASSERT_EQ(program
                .shell("cp -r run other && rm other/summary.json && mkdir bad && "
                       "echo x > bad/config.toml")
                .code,
            0);
  const Outcome table = program.run("status .");
  EXPECT_EQ(table.code, 0);
  expect_words(table.out, {"run", "task", "state", "epoch", "return", "steps/s", "time left",
                           "finished", "interrupted", "3/3", "unreadable", "bad/config.toml"});
  const Outcome alive =
      program.shell(kOvde + kSaved + "--out alive --epochs 100000 >x & pid=$!; " +
                    wait_until("[ -s alive/progress.csv ]") + kOvde + "status alive; kill -9 $pid");
  expect_words(alive.out, {"training  ", "/100000"});
  EXPECT_EQ(program.run("status nowhere").code, 2);

  // runs/* of a shell may contain other files
  const Outcome some = program.shell("mkdir nothing; " + kOvde + "status run/lock run nothing");
  EXPECT_EQ(some.code, 0) << some.err;
  expect_words(some.out, {"3/3", "run/lock is not a folder", "there is no run in nothing"});
  const Outcome misspelt = program.run("status rnu nothing run");
  EXPECT_EQ(misspelt.code, 2);
  expect_words(misspelt.out, {"3/3"});
  EXPECT_EQ(misspelt.err,
            "ovde: rnu is not a folder (did you mean run?); there is no run in nothing\n");
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
