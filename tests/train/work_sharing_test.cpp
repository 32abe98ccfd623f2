#include "train/work_sharing.h"

#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace ovde {
namespace OVDE_TEST_FILE {

class Pieces : public testing::TestWithParam<int> {};

TEST_P(Pieces, EachIsTakenOncePerRound) {
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

INSTANTIATE_TEST_SUITE_P(Rounds, Pieces, testing::Values(1, 3, 20),
                         testing::PrintToStringParamName());

TEST(LongestFirstQueue, MostWorkLeftComesFirst) {
  LongestFirstQueue queue(std::array<std::int64_t, 4>{3, 7, 0, 5});
  EXPECT_EQ(queue.take(), 1);
  EXPECT_EQ(queue.take(), 3);
  queue.give_back(1, 2);
  EXPECT_EQ(queue.take(), 0);
  EXPECT_EQ(queue.take(), 1);
  EXPECT_EQ(queue.take(), -1);  // the others are taken, or had no work left
  queue.give_back(0, 0);
  queue.give_back(3, 1);
  EXPECT_EQ(queue.take(), 3);
  EXPECT_EQ(queue.take(), -1);
}

class Busy final : public SharedWork {
 public:
  bool do_piece() override {
    ++inside;
    while (held) std::this_thread::yield();
    --inside;
    return left-- > 0;
  }
  std::atomic<int> left{0}, inside{0};
  std::atomic<bool> held{false};
};

TEST(WorkStealing, TakesWorkOfOtherPopulations) {
  WorkStealing stealing(3);
  Busy own, other;
  EXPECT_FALSE(stealing.steal(0));
  own.left = 5;
  other.left = 2;
  stealing.offer(0, own);
  stealing.offer(2, other);
  EXPECT_TRUE(stealing.steal(0));
  EXPECT_TRUE(stealing.steal(0));
  EXPECT_FALSE(stealing.steal(0));
  EXPECT_EQ(own.left, 5);
  stealing.withdraw(2);
  other.left = 1;
  EXPECT_FALSE(stealing.steal(0));
  EXPECT_TRUE(stealing.steal(1));
  EXPECT_EQ(own.left, 4);
}

TEST(WorkStealing, WithdrawWaitsForOtherThreads) {
  WorkStealing stealing(2);
  Busy other;
  other.held = true;
  stealing.offer(1, other);
  std::jthread thief([&] { stealing.steal(0); });
  while (other.inside == 0) std::this_thread::yield();
  std::atomic<bool> withdrawn{false};
  std::jthread owner([&] {
    stealing.withdraw(1);
    withdrawn = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(withdrawn);
  other.held = false;
  owner.join();
  EXPECT_EQ(other.inside, 0);
}

TEST(WorkStealing, FinishedPopulationsHelpToTheEnd) {
  WorkStealing stealing(2);
  Busy other;
  other.left = 1000;
  stealing.offer(1, other);
  stealing.finished();
  std::jthread helpers([&] { stealing.steal_to_the_end(0, 2); });
  while (other.left > 0) std::this_thread::yield();
  stealing.withdraw(1);
  stealing.finished();
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
