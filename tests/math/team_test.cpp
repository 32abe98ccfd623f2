#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

#include "math/team.h"

namespace ovde {
namespace {

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

TEST(Team, HandsOnTheFirstException) {
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

}  // namespace
}  // namespace ovde
