// The equations that CPU and GPU share, at one number and at a vector of them.
#include "agent/equations.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "nn/simd.h"

namespace ovde {
namespace OVDE_TEST_FILE {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Equations, TheSmallerOfTwoKeepsANaN) {
  EXPECT_EQ(smaller(splat(1), splat(2))[0], 1);
  EXPECT_EQ(smaller(splat(2), splat(1))[0], 1);
  EXPECT_EQ(smaller(splat(-kInfinity), splat(1))[0], -kInfinity);
  for (const float x : {-1.0f, 0.0f, kInfinity, kNaN}) {
    EXPECT_TRUE(std::isnan(smaller(splat(x), splat(kNaN))[0])) << x;
    EXPECT_TRUE(std::isnan(smaller(splat(kNaN), splat(x))[0])) << x;
    EXPECT_TRUE(std::isnan(smaller(x, kNaN)) && std::isnan(smaller(kNaN, x))) << x;
  }
}

// By hand: huber(u) is u^2 / 2 up to 1 and |u| - 1/2 beyond.
TEST(Equations, QuantileHuberWeighsBothSides) {
  const float tau = 0.2f;
  for (const auto& [u, huber] :
       {std::pair{0.5f, 0.125f}, {-0.5f, 0.125f}, {3.0f, 2.5f}, {-3.0f, 2.5f}}) {
    const auto term = quantile_huber(u, tau, 1 - tau, 2.0f);
    const float side = u < 0 ? 1 - tau : tau;
    EXPECT_FLOAT_EQ(term.value, 2 * side * huber) << u;
    EXPECT_FLOAT_EQ(term.slope, 2 * side * std::fmax(-1.0f, std::fmin(u, 1.0f))) << u;
    EXPECT_EQ(quantile_huber(splat(u), splat(tau), splat(1 - tau), 2.0f).value[0], term.value) << u;
  }
  EXPECT_TRUE(std::isnan(quantile_huber(kNaN, tau, 1 - tau, 1.0f).slope));
}

TEST(Equations, TargetsTakeTheSmallerCriticLessTheEntropy) {
  EXPECT_FLOAT_EQ(td_target(1.0f, 0.9f, 5.0f, 4.0f, 0.5f), 1 + 0.9f * 3.5f);
  EXPECT_FLOAT_EQ(td_target(1.0f, 0.0f, 5.0f, 4.0f, 0.5f), 1);  // terminal
  EXPECT_TRUE(std::isnan(td_target(1.0f, 0.9f, kNaN, 4.0f, 0.5f)));
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
