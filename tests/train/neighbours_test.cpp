#include "train/neighbours.h"

#include <chrono>

#include <gtest/gtest.h>

namespace ovde {
namespace OVDE_TEST_FILE {

class Busy final : public Helped {
 public:
  bool help() override {
    ++inside;
    while (held) std::this_thread::yield();
    --inside;
    return left-- > 0;
  }
  std::atomic<int> left{0}, inside{0};
  std::atomic<bool> held{false};
};

TEST(Neighbours, HelpOthersWhereThereIsWork) {
  Neighbours neighbours(3);
  Busy own, other;
  EXPECT_FALSE(neighbours.help(0));
  own.left = 5;
  other.left = 2;
  neighbours.open(0, own);
  neighbours.open(2, other);
  EXPECT_TRUE(neighbours.help(0));
  EXPECT_TRUE(neighbours.help(0));
  EXPECT_FALSE(neighbours.help(0));
  EXPECT_EQ(own.left, 5);
  neighbours.close(2);
  other.left = 1;
  EXPECT_FALSE(neighbours.help(0));
  EXPECT_TRUE(neighbours.help(1));
  EXPECT_EQ(own.left, 4);
}

TEST(Neighbours, NobodyIsLeftInsideWhenADoorIsClosed) {
  Neighbours neighbours(2);
  Busy other;
  other.held = true;
  neighbours.open(1, other);
  std::jthread guest([&] { neighbours.help(0); });
  while (other.inside == 0) std::this_thread::yield();
  std::atomic<bool> closed{false};
  std::jthread owner([&] {
    neighbours.close(1);
    closed = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(closed);
  other.held = false;
  owner.join();
  EXPECT_EQ(other.inside, 0);
}

TEST(Neighbours, WhoHasFinishedHelpsTheOthersToTheirEnd) {
  Neighbours neighbours(2);
  Busy other;
  other.left = 1000;
  neighbours.open(1, other);
  neighbours.finished();
  std::jthread helpers([&] { neighbours.help_to_the_end(0, 2); });
  while (other.left > 0) std::this_thread::yield();
  neighbours.close(1);
  neighbours.finished();
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
