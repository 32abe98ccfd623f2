// Locks of cells: one holder at a time, released with its process, and refused where in doubt.
#include "study/execute/cell_locks.h"

#include <atomic>
#include <csignal>
#include <list>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/host_name.h"
#include "io/files.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;
using Outcome = CellLocks::Outcome;

std::string boot_id() {
  const std::string text = read_file("/proc/sys/kernel/random/boot_id");
  return text.substr(0, text.find('\n'));
}

std::string this_namespace() { return fs::read_symlink("/proc/self/ns/pid").string(); }

// The lock file of a process that is gone, or whose lock cannot be seen.
struct Record {
  std::string host = host_name(), boot = boot_id(), pid_namespace = this_namespace();
  std::string pid = "4711", started = "1", job = "", restarts = "0", deaths = "0";
};
void write_record(const fs::path& study, const std::string& file, const Record& record) {
  make_folder(study / "locks");
  write_file_atomically(study / "locks" / file,
                        "host " + record.host + "\nboot " + record.boot + "\nnamespace " +
                            record.pid_namespace + "\npid " + record.pid + "\nstarted " +
                            record.started + "\njob " + record.job + "\nrestarts " +
                            record.restarts + "\ndeaths " + record.deaths + "\n");
}

TEST(CellLocks, OneProcessAtATimeHasACell) {
  const TemporaryFolder study;
  CellLocks first(study.path(), false), second(study.path(), false);
  EXPECT_EQ(first.take("a/DSAC").outcome, Outcome::taken);
  EXPECT_EQ(second.take("a/DSAC").outcome, Outcome::held);
  EXPECT_EQ(second.take("a/OVDE").outcome, Outcome::taken);
  first.release("a/DSAC");
  EXPECT_EQ(second.take("a/DSAC").outcome, Outcome::taken);
  EXPECT_EQ(first.take("a/DSAC").outcome, Outcome::held);
}

TEST(CellLocks, AFinishedCellLeavesNoFile) {
  const TemporaryFolder study;
  {
    CellLocks locks(study.path(), false);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(locks.take("a/DSAC").outcome, Outcome::taken);
      if (i < 2) locks.fail("a/DSAC", "no disk");
    }
    locks.finish("a/DSAC");
  }
  EXPECT_FALSE(fs::exists(study.path() / "locks"));
}

TEST(CellLocks, StatusNamesTheHolderAndTheFailure) {
  const TemporaryFolder study;
  CellLocks locks(study.path(), false);
  ASSERT_EQ(locks.take("a/DSAC").outcome, Outcome::taken);
  ASSERT_EQ(locks.take("b/DSAC").outcome, Outcome::taken);
  locks.fail("b/DSAC", "the disk is full");
  write_record(study.path(), "c@DSAC", {.host = "n7", .boot = "another", .job = "12_3"});
  write_record(study.path(), "d@DSAC", {});
  const auto all =
      read_cell_locks(study.path(), {"a/DSAC", "a/OVDE", "b/DSAC", "c/DSAC", "d/DSAC"});
  EXPECT_EQ(all.size(), 3u);
  ASSERT_TRUE(all.at("a/DSAC").holder);
  EXPECT_FALSE(all.at("a/DSAC").in_doubt);
  EXPECT_EQ(all.at("a/DSAC").holder->host, host_name());
  EXPECT_EQ(all.at("a/DSAC").holder->pid, std::to_string(::getpid()));
  EXPECT_FALSE(all.at("b/DSAC").holder);
  EXPECT_EQ(all.at("b/DSAC").failures,
            (std::map<std::string, std::string>{{host_name(), "the disk is full"}}));
  EXPECT_TRUE(all.at("c/DSAC").in_doubt);
  EXPECT_EQ(all.at("c/DSAC").holder->text(), "n7 (pid 4711, job 12_3)");
}

TEST(CellLocks, CellsOfADeadProcessAreTakenAtOnce) {
  const TemporaryFolder study;
  const pid_t child = ::fork();
  if (child == 0) {
    CellLocks locks(study.path(), false);
    ::_exit(locks.take("a/DSAC").outcome == Outcome::taken ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(fs::exists(study.path() / "locks/a@DSAC"));
  EXPECT_TRUE(read_cell_locks(study.path(), {"a/DSAC"}).empty());
  CellLocks locks(study.path(), false);
  EXPECT_EQ(locks.take("a/DSAC").outcome, Outcome::taken);
}

// The kernel releases the locks of a killed process before its entry in /proc disappears, which a
// parent can delay for long.
TEST(CellLocks, CellsOfAProcessThatIsNotReapedAreTaken) {
  const TemporaryFolder study;
  const pid_t child = ::fork();
  if (child == 0) {
    CellLocks locks(study.path(), false);
    locks.take("a/DSAC");
    ::raise(SIGKILL);
  }
  siginfo_t end = {};
  ::waitid(P_PID, child, &end, WEXITED | WNOWAIT);  // leaves it a zombie
  ASSERT_TRUE(fs::exists("/proc/" + std::to_string(child)));
  EXPECT_TRUE(read_cell_locks(study.path(), {"a/DSAC"}).empty());
  CellLocks locks(study.path(), false);
  EXPECT_EQ(locks.take("a/DSAC").outcome, Outcome::taken);
  ::waitpid(child, nullptr, 0);
}

TEST(CellLocks, InDoubtACellIsRefused) {
  const Record doubtful[] = {
      {.host = "n7", .boot = "another"},   // another machine
      {.pid_namespace = "pid:[1]"},        // another container of this machine
      {.pid = std::to_string(::getpid())}  // a living process, whose lock this file system hides
  };
  for (Record record : doubtful) {
    if (record.pid != "4711") {  // the start time of this process
      const TemporaryFolder own;
      CellLocks locks(own.path(), false);
      locks.take("a/DSAC");
      record.started = read_cell_locks(own.path(), {"a/DSAC"}).at("a/DSAC").holder->started;
    }
    const TemporaryFolder study;
    write_record(study.path(), "a@DSAC", record);
    CellLocks careful(study.path(), false);
    const CellLocks::Attempt attempt = careful.take("a/DSAC");
    EXPECT_EQ(attempt.outcome, Outcome::in_doubt);
    expect_words(attempt.why, {record.host + " (pid " + record.pid + ")", "can be taken over"});
    EXPECT_TRUE(fs::exists(study.path() / "locks/a@DSAC"));
    CellLocks forced(study.path(), true);
    EXPECT_EQ(forced.take("a/DSAC").outcome, Outcome::taken);
  }
}

TEST(CellLocks, CellsOfImpossibleHoldersAreTaken) {
  const Record gone[] = {{.boot = "the one before"},            // this machine was restarted
                         {.started = "another time"},           // the number is another process's
                         {.pid = std::to_string(::getpid())}};  // which began later
  for (const Record& record : gone) {
    const TemporaryFolder study;
    write_record(study.path(), "a@DSAC", record);
    CellLocks locks(study.path(), false);
    EXPECT_EQ(locks.take("a/DSAC").outcome, Outcome::taken);
  }
}

TEST(CellLocks, ARequeuedSlurmTaskContinuesItsOwnCells) {
  ::setenv("SLURM_JOB_ID", "12", 1);
  ::setenv("SLURM_RESTART_COUNT", "1", 1);
  const auto outcome = [](const Record& record) {
    const TemporaryFolder study;
    write_record(study.path(), "a@DSAC", record);
    return CellLocks(study.path(), false).take("a/DSAC").outcome;
  };
  EXPECT_EQ(outcome({.host = "n7", .boot = "another", .job = "12"}), Outcome::taken);
  EXPECT_EQ(outcome({.host = "n7", .boot = "another", .job = "13"}), Outcome::in_doubt);
  EXPECT_EQ(outcome({.host = "n7", .boot = "another", .job = "12", .restarts = "1"}),
            Outcome::in_doubt);
  ::unsetenv("SLURM_JOB_ID");
  ::unsetenv("SLURM_RESTART_COUNT");
}

// A power failure leaves files empty, cut short or full of zeros.
TEST(CellLocks, AnIncompleteFileHasNoHolder) {
  const std::string remains[] = {"", std::string(100, '\0'), "host n7\nboot another\npid 4711\n"};
  for (const std::string& text : remains) {
    const TemporaryFolder study;
    make_folder(study.path() / "locks");
    write_file_atomically(study.path() / "locks/a@DSAC", text);
    CellLocks locks(study.path(), false);
    EXPECT_TRUE(read_cell_locks(study.path(), {"a/DSAC"}).empty());
    EXPECT_EQ(locks.take("a/DSAC").outcome, Outcome::taken);
  }
}

TEST(CellLocks, ManyComeAndGoAtOnce) {
  const TemporaryFolder study;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const std::string cell = "a/" + std::to_string(i);
      for (int round = 0; round < 25; ++round) {
        CellLocks locks(study.path(), false);
        EXPECT_EQ(locks.take(cell).outcome, Outcome::taken);
        locks.finish(cell);
      }
    });
  }
  threads.clear();
  EXPECT_FALSE(fs::exists(study.path() / "locks"));
}

// Two mounts of a folder may hide each other's locks: the file must name its holder from the start.
TEST(CellLocks, AFileAlwaysNamesItsHolder) {
  const TemporaryFolder study;
  std::atomic<int> seen{0};
  const std::jthread reader([&](const std::stop_token& end) {
    while (!end.stop_requested()) {
      const Descriptor file(study.path() / "locks/a@DSAC", O_RDONLY);
      if (!file.valid()) continue;
      char text[1000] = {};
      EXPECT_GT(::pread(file.get(), text, sizeof text - 1, 0), 0);
      EXPECT_TRUE(has(text, "\ndeaths 0\n")) << text;
      ++seen;
    }
  });
  CellLocks locks(study.path(), false);
  for (int round = 0; round < 500; ++round) {
    ASSERT_EQ(locks.take("a/DSAC").outcome, Outcome::taken);
    // on a busy machine the reader may not have been given a processor for many rounds
    const int before = seen;
    while (round % 25 == 0 && seen == before) std::this_thread::yield();
    locks.release("a/DSAC");
  }
}

TEST(CellLocks, OneOfManyTakesTheCellOfADeadProcess) {
  for (int round = 0; round < 20; ++round) {
    const TemporaryFolder study;
    write_record(study.path(), "a@DSAC", {});
    std::list<CellLocks> all;
    for (int i = 0; i < 8; ++i) all.emplace_back(study.path(), false);
    std::atomic<int> taken{0};
    {
      std::vector<std::jthread> threads;
      for (CellLocks& locks : all)
        threads.emplace_back([&] { taken += locks.take("a/DSAC").outcome == Outcome::taken; });
    }
    EXPECT_EQ(taken, 1);
  }
}

// With many processes a cell that fails would fail once for each of them.
TEST(CellLocks, LaterProcessesRetryAFailedCell) {
  const TemporaryFolder study;
  CellLocks other(study.path(), false), unlucky(study.path(), false);
  ASSERT_EQ(unlucky.take("a/DSAC").outcome, Outcome::taken);
  unlucky.fail("a/DSAC", "the disk is full");
  EXPECT_EQ(other.failure("a/DSAC"), "the disk is full");
  CellLocks later(study.path(), false);
  later.forget_failures({"a/DSAC"});
  EXPECT_FALSE(later.failure("a/DSAC"));
  EXPECT_EQ(later.take("a/DSAC").outcome, Outcome::taken);
}

// The disk of one node may be full: the others run the cell.
TEST(CellLocks, AFailureIsThatOfANode) {
  const TemporaryFolder study;
  const auto on_node = [](const char* node) { ::setenv("SLURMD_NODENAME", node, 1); };
  CellLocks first(study.path(), false), second(study.path(), false);
  for (const char* node : {"n1", "n2"}) {
    on_node(node);
    EXPECT_FALSE(first.failure("a/DSAC")) << node;
    ASSERT_EQ(first.take("a/DSAC").outcome, Outcome::taken);
    first.fail("a/DSAC", std::string("no disk on ") + node);
    EXPECT_EQ(second.failure("a/DSAC"), std::string("no disk on ") + node);
  }
  const std::map<std::string, std::string> both = {{"n1", "no disk on n1"},
                                                   {"n2", "no disk on n2"}};
  EXPECT_EQ(read_cell_locks(study.path(), {"a/DSAC"}).at("a/DSAC").failures, both);
  second.forget_failures({"a/DSAC"});
  EXPECT_FALSE(second.failure("a/DSAC"));
  EXPECT_EQ(read_cell_locks(study.path(), {"a/DSAC"}).at("a/DSAC").failures.size(), 1u);
  ASSERT_EQ(second.take("a/DSAC").outcome, Outcome::taken);
  second.finish("a/DSAC");
  EXPECT_TRUE(read_cell_locks(study.path(), {"a/DSAC"}).empty());
  ::unsetenv("SLURMD_NODENAME");
}

TEST(CellLocks, ACellThatKillsTenProcessesIsGivenUp) {
  const TemporaryFolder study;
  CellLocks survivor(study.path(), false);
  write_record(study.path(), "a@DSAC", {.deaths = "9"});
  EXPECT_EQ(survivor.take("a/DSAC").outcome, Outcome::taken);
  survivor.release("a/DSAC");
  write_record(study.path(), "a@DSAC", {.deaths = "10"});
  const CellLocks::Attempt attempt = survivor.take("a/DSAC");
  EXPECT_EQ(attempt.outcome, Outcome::refused);
  EXPECT_EQ(attempt.why, "10 processes died while they ran it");
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
