#include "train/longest_first_queue.h"

#include <gtest/gtest.h>

#include <array>

namespace ovde {
namespace OVDE_TEST_FILE {

TEST(LongestFirstQueue, TheOneWithTheMostLeftComesFirst) {
  LongestFirstQueue queue(std::array<std::int64_t, 4>{3, 7, 0, 5});
  EXPECT_EQ(queue.take(), 1);
  EXPECT_EQ(queue.take(), 3);
  queue.give_back(1, 2);
  EXPECT_EQ(queue.take(), 0);
  EXPECT_EQ(queue.take(), 1);
  EXPECT_EQ(queue.take(), -1);  // what is left is being worked on, or had nothing to do
  queue.give_back(0, 0);
  queue.give_back(3, 1);
  EXPECT_EQ(queue.take(), 3);
  EXPECT_EQ(queue.take(), -1);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
