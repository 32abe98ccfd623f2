#include "train/rounds.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace ovde {
namespace OVDE_TEST_FILE {

class RoundsOf : public testing::TestWithParam<int> {};

TEST_P(RoundsOf, EveryPieceIsTakenOnceAndInItsRound) {
  const int pieces = GetParam();
  // the first round begins while the threads already look for it: many beginnings
  for (int beginning = 0; beginning < 100; ++beginning) {
    constexpr int kRounds = 50;
    Rounds rounds(pieces);
    int round = 0;  // written between two rounds only
    std::atomic<bool> ended{false};
    std::vector<int> taken(pieces);
    const auto work = [&] {
      while (!ended) {
        const int piece = rounds.take();
        if (piece < 0) {
          std::this_thread::yield();
          continue;
        }
        EXPECT_EQ(taken[piece]++, round);
        if (!rounds.done()) continue;
        EXPECT_FALSE(rounds.waiting());
        if (++round < kRounds) {
          rounds.open();
        } else {
          ended = true;
        }
      }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(work);
    rounds.open();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(taken, std::vector<int>(pieces, kRounds));
  }
}

INSTANTIATE_TEST_SUITE_P(Pieces, RoundsOf, testing::Values(1, 3, 20),
                         testing::PrintToStringParamName());

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
