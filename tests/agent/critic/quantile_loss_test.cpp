// The critic's losses against double loops over the definition, their gradients against central
// differences of these.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include <ovde/random.h>
#include "agent/critic/loss.h"
#include "reference.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using reference::Vec;

// (1/N) sum_i sum_j |tau_j - 1{y_i - z_j < 0}| huber(y_i - z_j), tau_j = (j + 1/2) / N.
double definition(const Vec& y, const Vec& z) {
  const double n = static_cast<double>(z.size());
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (std::size_t j = 0; j < z.size(); ++j) {
      const double u = y[i] - z[j];
      const double huber = std::abs(u) <= 1 ? 0.5 * u * u : std::abs(u) - 0.5;
      const double fraction = (static_cast<double>(j) + 0.5) / n;
      sum += std::abs(fraction - (u < 0 ? 1 : 0)) * huber;
    }
  }
  return sum / n;
}

struct Losses {
  Losses(int features, int samples)
      : targets(features, samples),
        values(features, samples),
        weight(1, samples),
        gradient(features, samples) {
    // errors on both sides of the kinks at 0 and +-1
    Random random(features * 1000 + samples, Stream::user);
    for (int s = 0; s < samples; ++s) {
      weight.at(0, s) = static_cast<float>(random.uniform(0.1, 1));
      for (int f = 0; f < features; ++f) {
        targets.at(f, s) = static_cast<float>(1.5 * random.normal());
        values.at(f, s) = static_cast<float>(1.5 * random.normal());
      }
    }
  }
  static Vec column(const Batch& batch, int sample) {
    Vec x;
    for (int f = 0; f < batch.features(); ++f) x.push_back(batch.at(f, sample));
    return x;
  }
  Batch targets, values, weight, gradient;
};

class QuantileLossTest : public testing::TestWithParam<std::pair<int, int>> {};

TEST_P(QuantileLossTest, MatchesItsDefinition) {
  const auto [quantiles, samples] = GetParam();
  Losses l(quantiles, samples);
  const double loss = quantile_huber_loss(l.targets, l.values, midpoints(quantiles), l.weight,
                                          l.gradient, all_blocks(l.values));
  double expected = 0;
  for (int s = 0; s < samples; ++s) {
    const Vec y = Losses::column(l.targets, s), z = Losses::column(l.values, s);
    const double weight = l.weight.at(0, s);
    expected += weight * definition(y, z);
    const Vec slope =
        reference::gradient([&](const Vec& x) { return weight * definition(y, x); }, z);
    for (int j = 0; j < quantiles; ++j) EXPECT_NEAR(l.gradient.at(j, s), slope[j], 2e-5);
  }
  EXPECT_NEAR(loss, expected, 1e-5 * (1 + expected));
}

// The learner cuts its batch into blocks; lanes beyond the batch have weight zero and must not
// count.
TEST_P(QuantileLossTest, PiecesAddUpAndUnusedLanesDoNotCount) {
  const auto [quantiles, samples] = GetParam();
  Losses l(quantiles, samples);
  const int lanes = l.values.blocks() * kLanes;
  for (int s = samples; s < lanes; ++s) {
    for (int f = 0; f < quantiles; ++f) l.values.at(f, s) = 1e3f;
  }
  const auto loss = [&](Blocks blocks) {
    return quantile_huber_loss(l.targets, l.values, midpoints(quantiles), l.weight, l.gradient,
                               blocks);
  };
  double expected = 0;
  for (int s = 0; s < samples; ++s) {
    expected +=
        l.weight.at(0, s) * definition(Losses::column(l.targets, s), Losses::column(l.values, s));
  }
  const double halves = loss(half_blocks(l.values, 0)) + loss(half_blocks(l.values, 1));
  EXPECT_NEAR(halves, expected, 1e-5 * (1 + expected));
  for (int s = samples; s < lanes; ++s) {
    for (int f = 0; f < quantiles; ++f) EXPECT_EQ(l.gradient.at(f, s), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, QuantileLossTest,
                         testing::Values(std::pair{1, 5}, std::pair{2, 16}, std::pair{5, 37},
                                         std::pair{11, 1}, std::pair{20, 100}),
                         [](const auto& info) {
                           return std::to_string(info.param.first) + "Quantiles" +
                                  std::to_string(info.param.second) + "Samples";
                         });

// Minimised over z, the loss gives the quantiles of the targets: the property it exists for.
TEST(QuantileLoss, IsSmallestAtTheQuantilesOfTheTargets) {
  const int n = 5;
  Vec y;  // uniform on (0, 100): wide enough for kappa = 1 to be a small matter
  for (int i = 0; i < 200; ++i) y.push_back((i + 0.5) / 2);
  for (int j = 0; j < n; ++j) {
    const double tau = midpoints(n)[j];
    Batch targets(n, 1), z(n, 1), weight(1, 1), gradient(n, 1);
    // the gradient of z_j, summed over all targets, n of them at a time
    const auto slope = [&](double value) {
      double sum = 0;
      for (std::size_t i = 0; i < y.size(); i += n) {
        for (int q = 0; q < n; ++q) {
          targets.at(q, 0) = static_cast<float>(y[i + q]);
          z.at(q, 0) = static_cast<float>(value);
        }
        weight.at(0, 0) = 1;
        quantile_huber_loss(targets, z, midpoints(n), weight, gradient, all_blocks(z));
        sum += gradient.at(j, 0);
      }
      return sum;
    };
    EXPECT_LT(slope(100 * tau - 2), 0) << "quantile " << j;
    EXPECT_GT(slope(100 * tau + 2), 0) << "quantile " << j;
  }
}

TEST(Midpoints, AreTheMiddlesOfEqualParts) {
  for (int n = 1; n <= 20; ++n) {
    const auto fractions = midpoints(n);
    ASSERT_EQ(static_cast<int>(fractions.size()), n);
    for (int i = 0; i < n; ++i) EXPECT_FLOAT_EQ(fractions[i], (i + 0.5f) / n);
  }
}

TEST(SquaredLoss, MatchesItsDefinition) {
  for (const int samples : {1, 16, 37, 100}) {
    Losses l(1, samples);
    const double loss =
        squared_loss(l.targets, l.values, l.weight, l.gradient, all_blocks(l.values));
    double expected = 0;
    for (int s = 0; s < samples; ++s) {
      const double y = l.targets.at(0, s), z = l.values.at(0, s), weight = l.weight.at(0, s);
      expected += weight * (y - z) * (y - z);
      const Vec slope =
          reference::gradient([&](const Vec& x) { return weight * (y - x[0]) * (y - x[0]); }, {z});
      EXPECT_NEAR(l.gradient.at(0, s), slope[0], 2e-5);
    }
    EXPECT_NEAR(loss, expected, 1e-5 * (1 + expected));
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
