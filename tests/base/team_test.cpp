#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/resource.h>

#include <ovde/error.h>
#include "base/team.h"

namespace ovde {
namespace OVDE_TEST_FILE {

TEST(Team, RunsEveryPieceOnce) {
  for (const int threads : {1, 2, 3}) {
    Team team(threads);
    for (int round = 0; round < 2000; ++round) {
      std::vector<int> count(round % 7);
      team.run(round % 7, [&](int piece) { ++count[piece]; });
      for (const int c : count) ASSERT_EQ(c, 1);
    }
  }
}

TEST(Team, ResultsOfOneRoundAreSeenInTheNext) {
  Team team(2);
  long a = 0, b = 0;
  for (int round = 0; round < 5000; ++round) {
    team.run(2, [&](int piece) { (piece == 0 ? a : b) += 1; });
    long before_a = a, before_b = b;
    team.run(2, [&](int piece) { (piece == 0 ? a : b) += (piece == 0 ? before_b : before_a) % 3; });
  }
  EXPECT_EQ(a, b);
}

// Exits with 3 if a thousand threads cannot be started, for lack of memory for their stacks.
void start_too_many() {
  const rlimit limit{1 << 30, 1 << 30};
  setrlimit(RLIMIT_AS, &limit);
  try {
    Team team(1000);
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::exit(3);
  }
  std::exit(0);
}

// In a process of its own, because it limits the memory.
TEST(Team, ReportsThreadsThatCannotBeStarted) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer needs the memory itself";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(start_too_many(), testing::ExitedWithCode(3), "cannot start 1000 threads");
}

TEST(Team, RethrowsAnException) {
  Team team(2);
  EXPECT_THROW(team.run(4,
                        [](int piece) {
                          if (piece == 2) throw std::runtime_error("piece 2");
                        }),
               std::runtime_error);
  std::atomic<int> done{0};
  team.run(4, [&](int) { ++done; });
  EXPECT_EQ(done, 4);
}

// The lowest piece, not the first to throw.
TEST(Team, RethrowsTheExceptionOfTheLowestPiece) {
  Team team(4);
  for (int round = 0; round < 20; ++round) {
    try {
      team.run(4, [](int piece) {
        if (piece == 1) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        if (piece > 0) throw std::runtime_error(std::to_string(piece));
      });
      ADD_FAILURE() << "no exception";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "1");
    }
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
