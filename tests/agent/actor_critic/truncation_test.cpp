// The truncated mixture on numbers worked out by hand. Whole updates with it are in
// learner_test.cpp.
#include "agent/actor_critic/truncation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace ovde {
namespace OVDE_TEST_FILE {

std::vector<float> kept(std::vector<float> first, std::vector<float> second, int dropped) {
  const int n = static_cast<int>(first.size());
  Batch a(n, 1), b(n, 1), out(2 * (n - dropped), 1);
  for (int i = 0; i < n; ++i) {
    a.at(i, 0) = first[i];
    b.at(i, 0) = second[i];
  }
  std::vector<float> all(2 * n);
  keep_smallest(a, b, all, out, all_blocks(out));
  std::vector<float> values;
  for (int i = 0; i < out.features(); ++i) values.push_back(out.at(i, 0));
  std::ranges::sort(values);
  return values;
}

TEST(Truncation, TheLargestOfBothCriticsAreLeftOut) {
  EXPECT_EQ(kept({1, 7, 3}, {2, 9, 8}, 1), (std::vector<float>{1, 2, 3, 7}));
  EXPECT_EQ(kept({1, 2, 3}, {10, 11, 12}, 1), (std::vector<float>{1, 2, 3, 10}));
  EXPECT_EQ(kept({5, 5}, {5, 1}, 1), (std::vector<float>{1, 5}));
}

TEST(Truncation, WithNothingDroppedAllAreKept) {
  EXPECT_EQ(kept({4, 1}, {3, 2}, 0), (std::vector<float>{1, 2, 3, 4}));
}

TEST(Truncation, ANumberThatIsNotFiniteIsNotLeftOut) {
  for (const float z : kept({1, NAN, 3}, {2, 9, 8}, 1)) EXPECT_TRUE(std::isnan(z));
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
