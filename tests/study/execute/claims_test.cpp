// Claims on cells: one holder at a time, and none is lost with a process that died.
#include "study/execute/claims.h"

#include <atomic>
#include <chrono>
#include <list>
#include <thread>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/host_name.h"
#include "io/files.h"
#include "temporary_folder.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

constexpr double kPatience = 60;

void never(const std::string& why) { FAIL() << why; }

void pause(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

bool look_and_take(Claims& claims, const std::string& cell) {
  claims.look();
  return claims.take(cell);
}

// What a worker on another machine leaves, whose lock cannot be seen here, with a sign of life that
// is `age` seconds old.
void write_foreign_claim(const fs::path& study, const std::string& file, int age) {
  const fs::path path = study / "claims" / file;
  write_file_atomically(path,
                        "host n7\npid 4711\njob 12_3\nkernel another\nlock yes\npatience 60\n");
  fs::last_write_time(path, fs::last_write_time(path) - std::chrono::seconds(age));
}

TEST(Claims, OneAtATimeHasACell) {
  const TemporaryFolder study;
  Claims first(study.path(), kPatience, never), second(study.path(), kPatience, never);
  EXPECT_TRUE(look_and_take(first, "a/DSAC"));
  EXPECT_FALSE(look_and_take(second, "a/DSAC"));
  EXPECT_TRUE(second.is_taken("a/DSAC"));
  EXPECT_TRUE(second.take("a/OVDE"));

  first.give_back("a/DSAC");
  second.look();
  EXPECT_FALSE(second.is_taken("a/DSAC"));
  EXPECT_TRUE(second.take("a/DSAC"));
  // with what it saw before: the next number is gone
  EXPECT_FALSE(first.take("a/DSAC"));
}

TEST(Claims, AFinishedCellLeavesNothing) {
  const TemporaryFolder study;
  {
    Claims claims(study.path(), kPatience, never);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(look_and_take(claims, "a/DSAC"));
      if (i < 2) claims.fail("a/DSAC", "no disk");
    }
    claims.finish("a/DSAC");
  }
  EXPECT_FALSE(fs::exists(study.path() / "claims"));
}

// Another that starts just then sees the cell finished while its claim is still there.
TEST(Claims, WhoIsAliveRemovesItsOwn) {
  const TemporaryFolder study;
  Claims claims(study.path(), kPatience, never);
  ASSERT_TRUE(look_and_take(claims, "a/DSAC"));
  write_foreign_claim(study.path(), "b@DSAC.0", 100);
  Claims::forget(study.path(), {"a/DSAC", "b/DSAC"});
  EXPECT_TRUE(fs::exists(study.path() / "claims/a@DSAC.0"));
  EXPECT_FALSE(fs::exists(study.path() / "claims/b@DSAC.0"));
}

TEST(Claims, OfManyHoldersAFewAreLookedAt) {
  const TemporaryFolder study;
  Claims claims(study.path(), kPatience, never);
  for (const char* file : {"a@DSAC.0", "b@DSAC.0"}) write_foreign_claim(study.path(), file, 100);
  claims.look(1);
  EXPECT_FALSE(claims.is_taken("a/DSAC"));
  EXPECT_TRUE(claims.is_taken("b/DSAC"));
  claims.look(1);
  EXPECT_FALSE(claims.is_taken("b/DSAC"));
}

TEST(Claims, WhoHasACellIsToldByItsFolder) {
  const TemporaryFolder study;
  Claims claims(study.path(), kPatience, never);
  ASSERT_TRUE(look_and_take(claims, "a/DSAC"));
  ASSERT_TRUE(claims.take("b/DSAC"));
  claims.fail("b/DSAC", "the disk is full");
  const auto all = read_claims(study.path(), {"a/DSAC", "a/OVDE", "b/DSAC"});
  EXPECT_EQ(all.size(), 2u);
  ASSERT_TRUE(all.at("a/DSAC").holder);
  EXPECT_EQ(all.at("a/DSAC").holder->host, host_name());
  EXPECT_EQ(all.at("a/DSAC").holder->pid, std::to_string(::getpid()));
  EXPECT_FALSE(all.at("b/DSAC").holder);
  EXPECT_EQ(all.at("b/DSAC").error, "the disk is full");
}

// A process on this machine is known to be dead at once, however long its patience.
TEST(Claims, WhatADeadProcessHadIsTakenOver) {
  const TemporaryFolder study;
  const pid_t child = ::fork();
  if (child == 0) {
    Claims claims(study.path(), 1000, never);
    ::_exit(claims.take("a/DSAC") ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(fs::exists(study.path() / "claims/a@DSAC.0"));
  EXPECT_FALSE(read_claims(study.path(), {"a/DSAC"}).at("a/DSAC").holder);
  {
    Claims claims(study.path(), kPatience, never);
    EXPECT_TRUE(look_and_take(claims, "a/DSAC"));
    claims.finish("a/DSAC");
  }
  EXPECT_FALSE(fs::exists(study.path() / "claims"));
}

TEST(Claims, OnAnotherMachineAStoppedHeartIsDeath) {
  const TemporaryFolder study;
  Claims claims(study.path(), kPatience, never);
  write_foreign_claim(study.path(), "a@DSAC.0", 50);
  claims.look();
  EXPECT_TRUE(claims.is_taken("a/DSAC"));
  EXPECT_EQ(read_claims(study.path(), {"a/DSAC"}).at("a/DSAC").holder->text(),
            "n7 (pid 4711, job 12_3)");
  write_foreign_claim(study.path(), "a@DSAC.0", 61);
  EXPECT_TRUE(look_and_take(claims, "a/DSAC"));
  EXPECT_TRUE(fs::exists(study.path() / "claims/a@DSAC.1"));
}

// A power failure leaves files empty, cut short or full of zeros, and their times fresh.
TEST(Claims, WhatIsNotWholeIsOfNobodyAlive) {
  const TemporaryFolder study;
  fs::create_directories(study.path() / "claims");
  const std::string whole = "host n7\npid 4711\njob \nkernel another\nlock yes\npatience 60\n";
  const std::string remains[] = {"", std::string(whole.size(), '\0'), whole.substr(0, 20),
                                 whole.substr(0, whole.size() - 1)};
  {
    Claims claims(study.path(), kPatience, never);
    for (const std::string& text : remains) {
      write_file_atomically(study.path() / "claims/a@DSAC.0", text);
      write_file_atomically(study.path() / "claims/a@DSAC.0.tmp", text);
      EXPECT_FALSE(read_claims(study.path(), {"a/DSAC"}).at("a/DSAC").holder) << text;
      EXPECT_TRUE(look_and_take(claims, "a/DSAC")) << text;
      claims.finish("a/DSAC");
      write_file_atomically(study.path() / "claims/worker.n7.4711-0", text);
      write_file_atomically(study.path() / "claims/worker.n7.4711-1.tmp", text);
      Claims(study.path(), kPatience, never);
    }
  }
  EXPECT_FALSE(fs::exists(study.path() / "claims"));
}

// Those who come remove what is not whole, be it of one who comes at the same time.
TEST(Claims, ManyComeAndGoAtOnce) {
  const TemporaryFolder study;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const std::string cell = "a/" + std::to_string(i);
      for (int round = 0; round < 25; ++round) {
        Claims claims(study.path(), kPatience, never);
        EXPECT_TRUE(look_and_take(claims, cell));
        claims.finish(cell);
      }
    });
  }
  threads.clear();
  EXPECT_FALSE(fs::exists(study.path() / "claims"));
}

TEST(Claims, OfManyWhoFindOneDeadOneTakesItsCell) {
  for (int round = 0; round < 20; ++round) {
    const TemporaryFolder study;
    fs::create_directories(study.path() / "claims");
    write_foreign_claim(study.path(), "a@DSAC.0", 100);
    std::list<Claims> all;
    for (int i = 0; i < 8; ++i) all.emplace_back(study.path(), kPatience, never);
    std::atomic<int> taken{0};
    {
      std::vector<std::jthread> threads;
      for (Claims& claims : all)
        threads.emplace_back([&] { taken += look_and_take(claims, "a/DSAC"); });
    }
    EXPECT_EQ(taken, 1);
  }
}

// A machine that slept must not go on writing what another has taken over.
TEST(Claims, WhoWasTakenForDeadIsTold) {
  const TemporaryFolder study;
  std::atomic<bool> lost{false};
  Claims claims(study.path(), 0.3, [&](const std::string&) { lost = true; });
  ASSERT_TRUE(look_and_take(claims, "a/DSAC"));
  pause(0.2);
  EXPECT_FALSE(lost);
  write_foreign_claim(study.path(), "a@DSAC.1", 0);
  for (int i = 0; i < 100 && !lost; ++i) pause(0.05);
  EXPECT_TRUE(lost);
}

TEST(Claims, WithoutAThreadAWorkerSaysWhyAndLeavesNothing) {
  const TemporaryFolder study;
  pthread_attr_t usual, huge;
  ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(::pthread_attr_init(&huge), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&huge, std::size_t{1} << 47), 0);
  ASSERT_EQ(::pthread_setattr_default_np(&huge), 0);  // more than a process can address
  std::string said;
  try {
    Claims(study.path(), kPatience, never);
  } catch (const Error& error) {
    said = error.what();
  }
  ASSERT_EQ(::pthread_setattr_default_np(&usual), 0);
  EXPECT_TRUE(said.starts_with("cannot start the thread")) << said;
  EXPECT_TRUE(fs::is_empty(study.path() / "claims"));
}

// With many workers a cell that fails would fail once for each of them.
TEST(Claims, AFailureCountsForThoseWhoWereThere) {
  const TemporaryFolder study;
  Claims there(study.path(), kPatience, never), unlucky(study.path(), kPatience, never);
  ASSERT_TRUE(look_and_take(unlucky, "a/DSAC"));
  unlucky.fail("a/DSAC", "the disk is full");
  there.look();
  EXPECT_EQ(there.failure("a/DSAC"), "the disk is full");

  Claims later(study.path(), kPatience, never);
  later.look();
  EXPECT_FALSE(later.failure("a/DSAC"));
  EXPECT_TRUE(later.take("a/DSAC"));
}

TEST(Claims, ACellThatKillsOneWorkerAfterTheOtherIsGivenUp) {
  const TemporaryFolder study;
  Claims survivor(study.path(), kPatience, never);
  for (int i = 0; i <= 10; ++i) {
    survivor.look();
    EXPECT_FALSE(survivor.failure("a/DSAC")) << i;
    write_foreign_claim(study.path(), "a@DSAC." + std::to_string(i), 100);
  }
  survivor.look();
  EXPECT_TRUE(survivor.failure("a/DSAC"));
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
