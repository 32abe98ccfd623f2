// The distribution of the current return: its CDF against closed forms, the direction in which it
// grows against central differences.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include <boost/math/distributions/normal.hpp>

#include "agent/critic/reference_critics.h"
#include "agent/explore/current_return.h"

namespace ovde {
namespace {

using reference::Quantiles;
using reference::Vec;

constexpr double kBeta = 0.8;

QuantilePair random_pair(int n, std::uint64_t seed) {
  Random random(seed, Stream::user);
  QuantilePair z(n);
  for (auto& critic : z.critic) {
    for (double& x : critic) x = 2 * random.normal() - 1;
  }
  return z;
}

TEST(ReturnDistribution, GaussianMatchesTheNormalDistribution) {
  const QuantilePair z = random_pair(9, 1);
  const Uncertainty u = uncertainty(z);
  ReturnDistribution pessimistic(CurrentReturn::gaussian, kBeta, 9),
      centred(CurrentReturn::mean, kBeta, 9);
  pessimistic.set(z, u);
  centred.set(z, u);
  const boost::math::normal low(u.mean - kBeta * u.epistemic, u.aleatoric),
      middle(u.mean, u.aleatoric);
  for (double x = u.mean - 6 * u.aleatoric; x < u.mean + 6 * u.aleatoric; x += 0.1) {
    EXPECT_NEAR(pessimistic.cdf(x), boost::math::cdf(low, x), 1e-14);
    EXPECT_NEAR(centred.cdf(x), boost::math::cdf(middle, x), 1e-14);
  }
  // the lower tail keeps its relative precision: m takes its logarithm
  EXPECT_NEAR(normal_cdf(-12) / boost::math::cdf(boost::math::normal(), -12.0), 1, 1e-12);
}

TEST(ReturnDistribution, QuantilesAreJoinedByStraightLines) {
  for (const int n : {1, 2, 5, 20}) {
    const QuantilePair z = random_pair(n, 10 + n);
    ReturnDistribution current(CurrentReturn::quantiles, kBeta, n);
    current.set(z, uncertainty(z));
    double last = 0;
    for (double x = -9; x < 9; x += 0.01) {
      const double phi = current.cdf(x);
      EXPECT_NEAR(phi, reference::quantile_cdf(x, {z.critic[0], z.critic[1]}), 1e-12);
      EXPECT_GE(phi, last);
      last = phi;
    }
    EXPECT_DOUBLE_EQ(current.cdf(-1e9), 1.0 / (2 * n));
    EXPECT_DOUBLE_EQ(current.cdf(1e9), 1);
    // at value number j of the sorted minima: (j + 1/2) / N
    Vec sorted;
    for (int i = 0; i < n; ++i) sorted.push_back(std::min(z.critic[0][i], z.critic[1][i]));
    std::ranges::sort(sorted);
    for (int j = 0; j < n; ++j) EXPECT_NEAR(current.cdf(sorted[j]), (j + 0.5) / n, 1e-12);
  }
}

// By hand: values 1, 2, 4 with a half, a quarter and a quarter of the probability.
TEST(ReturnDistribution, WeightsMoveTheCdf) {
  QuantilePair z(3);
  z.critic[0] = {4, 1, 2};
  z.critic[1] = {5, 5, 5};
  z.weight = {0.75, 1.5, 0.75};
  ReturnDistribution current(CurrentReturn::quantiles, kBeta, 3);
  current.set(z, uncertainty(z));
  EXPECT_DOUBLE_EQ(current.cdf(0), 0.25);
  EXPECT_DOUBLE_EQ(current.cdf(1), 0.25);
  EXPECT_DOUBLE_EQ(current.cdf(1.5), 0.4375);
  EXPECT_DOUBLE_EQ(current.cdf(2), 0.625);
  EXPECT_DOUBLE_EQ(current.cdf(3), 0.75);
  EXPECT_DOUBLE_EQ(current.cdf(4), 0.875);
  EXPECT_DOUBLE_EQ(current.cdf(4.1), 1);
}

TEST(ReturnDistribution, EqualQuantilesMakeAStep) {
  const int n = 5;
  QuantilePair z(n), direction(n);
  for (int i = 0; i < n; ++i) z.critic[0][i] = z.critic[1][i] = i < 3 ? 2 : 4;
  ReturnDistribution current(CurrentReturn::quantiles, kBeta, n);
  current.set(z, uncertainty(z));
  EXPECT_DOUBLE_EQ(current.cdf(2), 0.1);
  EXPECT_DOUBLE_EQ(current.cdf(std::nextafter(2.0, 3)), 0.5);
  EXPECT_DOUBLE_EQ(current.cdf(3), 0.6);
  EXPECT_DOUBLE_EQ(current.cdf(4), 0.7);
  EXPECT_TRUE(current.cdf_gradient(3, QuantilePair(n), direction));
  for (const auto& critic : direction.critic) {
    for (const double g : critic) EXPECT_TRUE(std::isfinite(g));
  }
}

std::string kind_name(const testing::TestParamInfo<CurrentReturn>& info) {
  const char* names[] = {"Gaussian", "Quantiles", "Mean"};
  return names[static_cast<int>(info.param)];
}

class CdfGradientTest : public testing::TestWithParam<CurrentReturn> {};

// x moves with the quantiles: x(z) = x0 + dx . (z - z0). The found direction is parallel to the
// gradient of Phi(x(z); z), and points the same way.
TEST_P(CdfGradientTest, IsTheDirectionOfCentralDifferences) {
  const int n = 6;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const QuantilePair z = random_pair(n, 20 + seed), dx = random_pair(n, 40 + seed);
    const double x0 = uncertainty(z).mean + 0.3;
    ReturnDistribution current(GetParam(), kBeta, n);
    current.set(z, uncertainty(z));
    QuantilePair found(n);
    ASSERT_TRUE(current.cdf_gradient(x0, dx, found));

    const auto phi = [&](const Vec& v) {
      const Quantiles at = {Vec(v.begin(), v.begin() + n), Vec(v.begin() + n, v.end())};
      double x = x0;
      for (int k = 0; k < 2; ++k) {
        for (int i = 0; i < n; ++i) x += dx.critic[k][i] * (at[k][i] - z.critic[k][i]);
      }
      if (GetParam() == CurrentReturn::quantiles) return reference::quantile_cdf(x, at);
      const double beta = GetParam() == CurrentReturn::gaussian ? kBeta : 0;
      return reference::gaussian_cdf(
          x, reference::expected_value(at) - beta * reference::epistemic(at),
          reference::aleatoric(at));
    };
    Vec v = z.critic[0], direction = found.critic[0];
    v.insert(v.end(), z.critic[1].begin(), z.critic[1].end());
    direction.insert(direction.end(), found.critic[1].begin(), found.critic[1].end());
    const Vec expected = reference::gradient(phi, v);
    double dot = 0, found_square = 0, expected_square = 0;
    for (int i = 0; i < 2 * n; ++i) {
      dot += direction[i] * expected[i];
      found_square += direction[i] * direction[i];
      expected_square += expected[i] * expected[i];
    }
    EXPECT_NEAR(dot / std::sqrt(found_square * expected_square), 1, 1e-8) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, CdfGradientTest,
                         testing::Values(CurrentReturn::gaussian, CurrentReturn::mean,
                                         CurrentReturn::quantiles),
                         kind_name);

TEST(ReturnDistribution, HasNoDirectionWhereItIsFlat) {
  const QuantilePair z = random_pair(5, 3), dx(5);
  QuantilePair out(5);
  ReturnDistribution current(CurrentReturn::quantiles, kBeta, 5);
  current.set(z, uncertainty(z));
  EXPECT_FALSE(current.cdf_gradient(1e3, dx, out));
  EXPECT_FALSE(current.cdf_gradient(-1e3, dx, out));
}

}  // namespace
}  // namespace ovde
