// The distribution of the current return: its CDF against closed forms, the direction in which it
// grows against central differences.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "agent/critic/reference_critics.h"
#include "agent/explore/explorer.h"
#include "sanitizer.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using reference::Quantiles;
using reference::Vec;

constexpr double kBeta = 0.8;

QuantilePair random_returns(int n, std::uint64_t seed) {
  Random random(seed, Stream::user);
  QuantilePair z(n);
  for (auto& critic : z.critic) {
    for (double& x : critic) x = 2 * random.normal() - 1;
  }
  return z;
}

// The direction of the full form's step by each quantile.
void direction_of(OvdRule rule, const QuantilePair& z, double noise, QuantilePair& out) {
  rule.gradient = GradientForm::full;
  SortedQuantiles order(z.size());
  rule.weigh(OneThread{}, PairQuantiles{z}, uncertainty(z), order.sort(z), noise,
             [&](int i, const ByQuantile& g) {
               for (int k = 0; k < 2; ++k) out.critic[k][i] = g.critic[k];
             });
}

TEST(ReturnDistribution, GaussianMatchesTheNormalDistribution) {
  const QuantilePair z = random_returns(9, 1);
  const Uncertainty u = uncertainty(z);
  const GaussianReturn pessimistic(u, kBeta), centred(u, 0);
  const auto normal = [&](double x, double mean) {
    return 0.5L * std::erfc((mean - x) / (u.aleatoric * std::sqrt(2.0L)));
  };
  for (double x = u.mean - 6 * u.aleatoric; x < u.mean + 6 * u.aleatoric; x += 0.1) {
    EXPECT_NEAR(pessimistic.cdf(x), normal(x, u.mean - kBeta * u.epistemic), 1e-14);
    EXPECT_NEAR(centred.cdf(x), normal(x, u.mean), 1e-14);
  }
  // the lower tail keeps its relative precision: m takes its logarithm
  EXPECT_NEAR(normal_cdf(-12) / 1.776482112077679e-33, 1, 1e-12);
}

TEST(ReturnDistribution, QuantilesAreJoinedByStraightLines) {
  for (const int n : {1, 2, 5, 20}) {
    const QuantilePair z = random_returns(n, 10 + n);
    SortedQuantiles order(n);
    const SortedReturn current = order.sort(z);
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
  SortedQuantiles order(3);
  const SortedReturn current = order.sort(z);
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
  SortedQuantiles order(n);
  const SortedReturn current = order.sort(z);
  EXPECT_DOUBLE_EQ(current.cdf(2), 0.1);
  EXPECT_DOUBLE_EQ(current.cdf(std::nextafter(2.0, 3)), 0.5);
  EXPECT_DOUBLE_EQ(current.cdf(3), 0.6);
  EXPECT_DOUBLE_EQ(current.cdf(4), 0.7);
  // the upper bound is the mean, 2.8, between the two steps
  direction_of({.current_return = CurrentReturn::quantiles, .beta = kBeta}, z, 0, direction);
  for (const auto& critic : direction.critic) {
    for (const double g : critic) EXPECT_TRUE(std::isfinite(g));
  }
}

std::string kind_name(const testing::TestParamInfo<CurrentReturn>& info) {
  const char* names[] = {"Gaussian", "Quantiles", "Mean"};
  return names[static_cast<int>(info.param)];
}

class CdfGradientTest : public testing::TestWithParam<CurrentReturn> {};

// The direction is parallel to the gradient of Phi(x; z) at the optimistic value x(z) itself, and
// points the same way.
TEST_P(CdfGradientTest, IsTheDirectionOfCentralDifferences) {
  SKIP_UNDER_SANITIZER("evaluates a plain reference thousands of times");
  const int n = 6;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const QuantilePair z = random_returns(n, 20 + seed);
    const OvdRule rule{.current_return = GetParam(), .beta = kBeta};
    // such that the optimistic value is 0.3 below the mean, where no kind is flat
    const Uncertainty u = uncertainty(z);
    const double noise = -(kBeta * u.epistemic + 0.3) / u.aleatoric;
    QuantilePair found(n);
    direction_of(rule, z, noise, found);

    const auto phi = [&](const Vec& v) {
      const Quantiles at = {Vec(v.begin(), v.begin() + n), Vec(v.begin() + n, v.end())};
      const double mean = reference::expected_value(at), epistemic = reference::epistemic(at),
                   aleatoric = reference::aleatoric(at);
      const double x = mean + kBeta * epistemic + noise * aleatoric;
      if (GetParam() == CurrentReturn::quantiles) return reference::quantile_cdf(x, at);
      const double beta = GetParam() == CurrentReturn::gaussian ? kBeta : 0;
      return reference::gaussian_cdf(x, mean - beta * epistemic, aleatoric);
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

// There the step follows the optimistic value instead.
TEST(ReturnDistribution, HasNoDirectionWhereItIsFlat) {
  const QuantilePair z = random_returns(5, 3);
  const OvdRule rule{.current_return = CurrentReturn::quantiles, .beta = kBeta};
  for (const double noise : {1e3, -1e3}) {
    SortedQuantiles order(5);
    EXPECT_TRUE(order.sort(z).flat(rule.upper_bound(uncertainty(z), noise)));
    QuantilePair found(5), expected(5);
    direction_of(rule, z, noise, found);
    uncertainty_gradient(z, uncertainty(z), 1, kBeta, noise, expected);
    for (int i = 0; i < 5; ++i) {
      EXPECT_DOUBLE_EQ(found.critic[0][i], expected.critic[0][i]);
      EXPECT_DOUBLE_EQ(found.critic[1][i], expected.critic[1][i]);
    }
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
