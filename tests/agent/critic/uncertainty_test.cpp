#include <gtest/gtest.h>

#include <cmath>

#include "agent/critic/reference_critics.h"
#include "agent/critic/uncertainty.h"
#include "sanitizer.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using reference::Quantiles;
using reference::Vec;

QuantilePair random_pair(int n, std::uint64_t seed) {
  Random random(seed, Stream::user);
  QuantilePair z(n);
  for (auto& critic : z.critic) {
    for (double& x : critic) x = 3 * random.normal() + 1;
  }
  return z;
}

Quantiles values(const QuantilePair& z) { return {z.critic[0], z.critic[1]}; }

TEST(Uncertainty, MatchesTheFormulasOfTheAppendix) {
  for (const int n : {1, 2, 5, 20}) {
    const QuantilePair z = random_pair(n, n);
    const Uncertainty u = uncertainty(z);
    EXPECT_NEAR(u.mean, reference::expected_value(values(z)), 1e-12);
    EXPECT_NEAR(u.epistemic, reference::epistemic(values(z)), 1e-12);
    EXPECT_NEAR(u.aleatoric, reference::aleatoric(values(z)), 1e-12);
  }
}

// By hand: z_1 = (0, 2), z_2 = (2, 8).
TEST(Uncertainty, OfASmallExample) {
  QuantilePair z(2);
  z.critic[0] = {0, 2};
  z.critic[1] = {2, 8};
  const Uncertainty u = uncertainty(z);
  EXPECT_DOUBLE_EQ(u.mean, 3);
  EXPECT_DOUBLE_EQ(u.epistemic, std::sqrt((1.0 + 9.0) / 2));
  EXPECT_DOUBLE_EQ(u.aleatoric, 2);  // the averages are 1 and 5
}

// By hand: z_1 = (0, 2), z_2 = (2, 8), as the published code has it.
TEST(Uncertainty, OfASmallExampleInTheOtherForms) {
  QuantilePair z(2);
  z.critic[0] = {0, 2};
  z.critic[1] = {2, 8};
  z.form = {EpistemicForm::means, VarianceForm::unbiased};
  const Uncertainty u = uncertainty(z);
  EXPECT_DOUBLE_EQ(u.mean, 3);
  EXPECT_DOUBLE_EQ(u.epistemic, 2);               // means 1 and 5
  EXPECT_DOUBLE_EQ(u.aleatoric, std::sqrt(8.0));  // the averages are 1 and 5
  // one quantile has no spread, however it is divided
  QuantilePair one(1);
  one.form = z.form;
  EXPECT_EQ(uncertainty(one).aleatoric, 0);
}

constexpr UncertaintyForm forms[] = {{},
                                     {EpistemicForm::means, VarianceForm::biased},
                                     {EpistemicForm::quantiles, VarianceForm::unbiased},
                                     {EpistemicForm::means, VarianceForm::unbiased}};

TEST(Uncertainty, GradientMatchesCentralDifferences) {
  SKIP_UNDER_SANITIZER("evaluates a plain reference thousands of times");
  for (const int at : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}) {
    const int n = std::array{1, 2, 5, 20}[at / 4];
    QuantilePair z = random_pair(n, 7 + n);
    const UncertaintyForm form = z.form = forms[at % 4];
    const double by_mean = 0.7, by_epistemic = -1.3, by_aleatoric = n == 1 ? 0 : 2.1;
    QuantilePair found(n);
    uncertainty_gradient(z, uncertainty(z), by_mean, by_epistemic, by_aleatoric, found);

    const auto f = [&](const Vec& x) {
      const Quantiles at = {Vec(x.begin(), x.begin() + n), Vec(x.begin() + n, x.end())};
      return by_mean * reference::expected_value(at) +
             by_epistemic * reference::epistemic(at, form) +
             (n == 1 ? 0 : by_aleatoric * reference::aleatoric(at, form));
    };
    Vec x = z.critic[0];
    x.insert(x.end(), z.critic[1].begin(), z.critic[1].end());
    const Vec expected = reference::gradient(f, x);
    for (int i = 0; i < n; ++i) {
      EXPECT_NEAR(found.critic[0][i], expected[i], 1e-7);
      EXPECT_NEAR(found.critic[1][i], expected[n + i], 1e-7);
    }
  }
}

// A quantile of weight two counts as two quantiles of weight one do.
TEST(Uncertainty, CountsQuantilesByTheirWeights) {
  const int n = 4, times[n] = {2, 1, 5, 2};  // ten in all
  QuantilePair z = random_pair(n, 3);
  for (int i = 0; i < n; ++i) z.weight[i] = times[i] * n / 10.0;
  const auto repeated = [&](const Vec& x) {
    Quantiles all;
    for (int k = 0; k < 2; ++k) {
      for (int i = 0; i < n; ++i) all[k].insert(all[k].end(), times[i], x[k * n + i]);
    }
    return all;
  };
  Vec x = z.critic[0];
  x.insert(x.end(), z.critic[1].begin(), z.critic[1].end());
  const Uncertainty u = uncertainty(z);
  EXPECT_NEAR(u.mean, reference::expected_value(repeated(x)), 1e-12);
  EXPECT_NEAR(u.epistemic, reference::epistemic(repeated(x)), 1e-12);
  EXPECT_NEAR(u.aleatoric, reference::aleatoric(repeated(x)), 1e-12);

  QuantilePair found(n);
  uncertainty_gradient(z, u, 0.7, -1.3, 2.1, found);
  const Vec expected = reference::gradient(
      [&](const Vec& at) {
        return 0.7 * reference::expected_value(repeated(at)) -
               1.3 * reference::epistemic(repeated(at)) + 2.1 * reference::aleatoric(repeated(at));
      },
      x);
  for (int i = 0; i < n; ++i) {
    EXPECT_NEAR(found.critic[0][i], expected[i], 1e-7);
    EXPECT_NEAR(found.critic[1][i], expected[n + i], 1e-7);
  }
}

// Where both critics agree, or all quantiles are one, the root has no derivative: zero is taken.
TEST(Uncertainty, GradientIsZeroWhereTheUncertaintyIs) {
  const int n = 4;
  QuantilePair z(n), found(n);
  for (int i = 0; i < n; ++i) z.critic[0][i] = z.critic[1][i] = 5;
  const Uncertainty u = uncertainty(z);
  EXPECT_EQ(u.epistemic, 0);
  EXPECT_EQ(u.aleatoric, 0);
  uncertainty_gradient(z, u, 1, 3, 3, found);
  for (const auto& critic : found.critic) {
    for (const double g : critic) EXPECT_DOUBLE_EQ(g, 1.0 / (2 * n));
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
