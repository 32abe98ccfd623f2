#include "nn/simd.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <numbers>

namespace ovde {
namespace OVDE_TEST_FILE {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

float one(Vector (*f)(Vector), float x) { return f(splat(x))[kVector - 1]; }

long resident_pages() {
  long all = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident;
}

TEST(Buffer, IsZeroAndAligned) {
  for (int round = 0; round < 3; ++round) {
    for (const std::size_t size : {1, 17, 1000, 100'000}) {
      Buffer buffer(size);
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u);
      ASSERT_EQ(std::ranges::count(buffer, 0.0f), static_cast<std::ptrdiff_t>(size));
      std::ranges::fill(buffer, 1.0f);
      const Buffer copy = buffer;
      ASSERT_EQ(copy, buffer);
    }
  }
}

TEST(Buffer, TakesNoMemoryUntilWritten) {
  constexpr long kPage = 4096, kPages = 1 << 16;
  const long before = resident_pages();
  Buffer buffer(kPages * kPage / sizeof(float));
  EXPECT_LT(resident_pages() - before, kPages / 4);
  std::ranges::fill(buffer, 1.0f);
  EXPECT_GT(resident_pages() - before, kPages / 2);
}

TEST(VectorMath, ExponentialMatchesDoublePrecision) {
  for (float x = -87; x <= 87; x += 0.0137f) {
    const double expected = std::exp(double{x});
    ASSERT_NEAR(one(exponential, x), expected, 2.5e-7 * expected) << x;
  }
  EXPECT_EQ(one(exponential, 0), 1);
  EXPECT_EQ(one(exponential, 1e30f), one(exponential, 87));
  EXPECT_EQ(one(exponential, -1e30f), one(exponential, -87));
}

TEST(VectorMath, SigmoidMatchesDoublePrecision) {
  for (float x = -80; x <= 80; x += 0.0137f) {
    const double expected = 1 / (1 + std::exp(-double{x}));
    ASSERT_NEAR(one(sigmoid, x), expected, 4e-7 * expected) << x;
  }
  EXPECT_EQ(one(sigmoid, 0), 0.5f);
  EXPECT_EQ(one(sigmoid, 1e30f), 1);
}

TEST(VectorMath, CosineMatchesDoublePrecision) {
  for (float x = -70; x <= 70; x += 0.00137f) {
    ASSERT_NEAR(one(cosine_pi, x), std::cos(std::numbers::pi * double{x}), 2e-7) << x;
  }
  for (int i = 0; i <= 64; ++i) {
    EXPECT_FLOAT_EQ(one(cosine_pi, static_cast<float>(i)), i % 2 == 0 ? 1.0f : -1.0f);
    EXPECT_NEAR(one(cosine_pi, static_cast<float>(i) + 0.5f), 0, 1e-7);
  }
}

TEST(VectorMath, ReluCutsAtZero) {
  EXPECT_EQ(one(relu, -1e-30f), 0);
  EXPECT_EQ(one(relu, 0), 0);
  EXPECT_EQ(one(relu, 2.5f), 2.5f);
}

TEST(VectorMath, PropagatesNaN) {
  for (const auto f : {relu, exponential, sigmoid, cosine_pi})
    EXPECT_TRUE(std::isnan(one(f, kNaN)));
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
