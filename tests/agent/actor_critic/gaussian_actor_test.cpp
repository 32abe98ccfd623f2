// The squashed Gaussian against its definition, its density against numerical integration, its
// gradient against central differences.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include <ovde/random.h>
#include "agent/actor_critic/gaussian_actor.h"
#include "agent/options.h"
#include "reference.h"
#include "sanitizer.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using reference::Vec;

constexpr LogStdForm kClamped = LogStdForm::clamped, kSquashed = LogStdForm::squashed;

double reference_log_std(LogStdForm form, double output) {
  return form == kSquashed ? -4 + 6 * std::tanh(output) : std::min(std::max(output, -20.0), 2.0);
}

// One dimension, in double precision: a = tanh(mean + std * eps), and log pi(a).
struct Squashed {
  Squashed(LogStdForm form, double mean, double output, double noise) {
    const double log_std = reference_log_std(form, output);
    const double u = mean + std::exp(log_std) * noise;
    action = std::tanh(u);
    const double log_normal = -noise * noise / 2 - log_std - 0.5 * std::log(2 * std::numbers::pi);
    // the squashed form has the exact slope of the tanh, 1 / cosh^2
    const double log_slope =
        form == kSquashed ? -2 * std::log(std::cosh(u)) : std::log(1 - action * action + 1e-6);
    log_probability = log_normal - log_slope;
  }
  double action, log_probability;
};

// A batch of given size with heads inside, at and beyond the clamp.
struct Sampled {
  Sampled(int actions, int samples)
      : head(2 * actions, samples), sampled(actions, samples), actions(actions), samples(samples) {
    Random random(actions * 100 + samples, Stream::user);
    for (int s = 0; s < samples; ++s) {
      for (int d = 0; d < actions; ++d) {
        head.at(d, s) = static_cast<float>(random.normal());
        head.at(actions + d, s) = static_cast<float>(random.uniform(-3, 0.5));
        sampled.noise.at(d, s) = static_cast<float>(random.normal());
      }
      // one sample in five has a log std outside its range, with noise that keeps tanh unsaturated
      if (s % 5 == 3) head.at(actions, s) = -25;
      if (s % 5 == 4) {
        head.at(actions, s) = 3;
        sampled.noise.at(0, s) *= 0.1f;
      }
    }
  }
  Batch head;
  SampledActions sampled;
  int actions, samples;
};

class EachLogStd : public testing::TestWithParam<LogStdForm> {};
INSTANTIATE_TEST_SUITE_P(SquashedGaussian, EachLogStd, testing::Values(kClamped, kSquashed),
                         [](const auto& info) { return name(info.param); });

TEST_P(EachLogStd, SamplesMatchTheDefinition) {
  for (const int samples : {1, 16, 37, 100}) {
    Sampled x(3, samples);
    sample_actions(x.head, GetParam(), x.sampled, all_blocks(x.head));
    for (int s = 0; s < samples; ++s) {
      double log_probability = 0;
      for (int d = 0; d < x.actions; ++d) {
        const Squashed expected(GetParam(), x.head.at(d, s), x.head.at(x.actions + d, s),
                                x.sampled.noise.at(d, s));
        EXPECT_NEAR(x.sampled.action.at(d, s), expected.action, 1e-6);
        log_probability += expected.log_probability;
      }
      // 1 - a^2 loses digits as |a| nears 1
      double slope = 1;
      for (int d = 0; d < x.actions; ++d)
        slope = std::min<double>(slope, 1 - std::pow(x.sampled.action.at(d, s), 2) + 1e-6);
      EXPECT_NEAR(x.sampled.log_probability.at(0, s), log_probability, 1e-5 + 1e-6 / slope);
    }
  }
}

// exp(log pi) integrates to one over the actions, and over an interval to the probability that the
// Gaussian gives its inverse image: the change of variables, done numerically.
TEST(SquashedGaussian, DensityIntegratesToProbabilities) {
  const double mean = 0.3, log_std = -0.5, std = std::exp(log_std);
  const int points = 20000;
  Batch head(2, 1);
  head.at(0, 0) = static_cast<float>(mean);
  head.at(1, 0) = static_cast<float>(log_std);
  SampledActions sampled(1, 1);
  const auto density = [&](double action) {
    sampled.noise.at(0, 0) = static_cast<float>((std::atanh(action) - mean) / std);
    sample_actions(head, kClamped, sampled, all_blocks(head));
    return std::exp(sampled.log_probability.at(0, 0));
  };
  for (const auto& [low, high] : {std::pair{-1.0, 1.0}, {-0.2, 0.4}, {0.6, 0.95}}) {
    double integral = 0;
    const double width = (high - low) / points;
    for (int i = 0; i < points; ++i) integral += width * density(low + (i + 0.5) * width);
    const auto below = [&](double a) {
      return a <= -1  ? 0
             : a >= 1 ? 1
                      : 0.5 * std::erfc(-(std::atanh(a) - mean) / (std * std::sqrt(2.0)));
    };
    EXPECT_NEAR(integral, below(high) - below(low), 1e-4);
  }
}

// Loss: weight * (alpha log pi - q) with q = c . a, so that dq/da = c.
TEST_P(EachLogStd, HeadGradientMatchesCentralDifferences) {
  SKIP_UNDER_SANITIZER("evaluates a plain reference thousands of times");
  const double alpha = 0.3;
  for (const int samples : {1, 37}) {
    Sampled x(2, samples);
    sample_actions(x.head, GetParam(), x.sampled, all_blocks(x.head));
    Batch slope(x.actions, samples), weight(1, samples), delta(2 * x.actions, samples);
    Random random(9, Stream::user);
    for (int s = 0; s < samples; ++s) {
      weight.at(0, s) = static_cast<float>(random.uniform(0.5, 1));
      for (int d = 0; d < x.actions; ++d) slope.at(d, s) = static_cast<float>(random.normal());
    }
    head_gradient(x.head, GetParam(), x.sampled, slope, static_cast<float>(alpha), weight, delta,
                  all_blocks(x.head));
    for (int s = 0; s < samples; ++s) {
      for (int d = 0; d < x.actions; ++d) {
        const auto loss = [&](const Vec& head) {
          const Squashed at(GetParam(), head[0], head[1], x.sampled.noise.at(d, s));
          return weight.at(0, s) * (alpha * at.log_probability - slope.at(d, s) * at.action);
        };
        const Vec expected =
            reference::gradient(loss, {x.head.at(d, s), x.head.at(x.actions + d, s)});
        EXPECT_NEAR(delta.at(d, s), expected[0], 2e-4) << "sample " << s;
        EXPECT_NEAR(delta.at(x.actions + d, s), expected[1], 2e-4) << "sample " << s;
      }
    }
  }
}

// The divergence of two Gaussians: the mean of log N(u) - log N'(u) under the first, numerically.
double integrated_divergence(double mean, double log_std, double other_mean, double other_log_std) {
  const auto log_density = [](double u, double m, double l) {
    return -std::pow((u - m) / std::exp(l), 2) / 2 - l - 0.5 * std::log(2 * std::numbers::pi);
  };
  const int points = 4000;
  const double width = 20.0 * std::exp(log_std) / points;
  double sum = 0;
  for (int i = 0; i < points; ++i) {
    const double u = mean + (i + 0.5 - points / 2.0) * width, own = log_density(u, mean, log_std);
    sum += width * std::exp(own) * (own - log_density(u, other_mean, other_log_std));
  }
  return sum;
}

// The gradient of scale * weight * KL is added to a gradient.
TEST_P(EachLogStd, DivergenceAndItsGradientMatchIntegrals) {
  const float scale = 0.7f;
  for (const int samples : {1, 37}) {
    const Sampled x(2, samples);
    Sampled policy(2, samples);
    Batch weight(1, samples), delta(4, samples);
    Random random(9, Stream::user);
    for (int s = 0; s < samples; ++s) {
      weight.at(0, s) = static_cast<float>(random.uniform(0.5, 1));
      for (int d = 0; d < 2; ++d) {
        policy.head.at(d, s) += static_cast<float>(0.3 * random.normal());
        // a narrow policy has divergences too large for finite differences
        policy.head.at(2 + d, s) = static_cast<float>(
            GetParam() == kSquashed ? random.uniform(0.4, 0.9) : random.uniform(-1.5, 0.5));
        delta.at(d, s) = delta.at(2 + d, s) = 1;
      }
      if (s % 5 == 0) policy.head.at(2, s) = 3;  // beyond the clamp
    }
    const double found =
        add_divergence(x.head, policy.head, GetParam(), scale, weight, delta, all_blocks(x.head));
    double sum = 0;
    for (int s = 0; s < samples; ++s) {
      for (int d = 0; d < 2; ++d) {
        const auto divergence = [&](const Vec& head) {
          const auto log_std = [](double output) { return reference_log_std(GetParam(), output); };
          return weight.at(0, s) * integrated_divergence(head[0], log_std(head[1]),
                                                         policy.head.at(d, s),
                                                         log_std(policy.head.at(2 + d, s)));
        };
        const Vec at = {x.head.at(d, s), x.head.at(2 + d, s)};
        sum += divergence(at);
        const Vec expected = reference::gradient(divergence, at);
        EXPECT_NEAR(delta.at(d, s), 1 + scale * expected[0], 1e-4 * (1 + std::abs(expected[0])));
        EXPECT_NEAR(delta.at(2 + d, s), 1 + scale * expected[1],
                    1e-4 * (1 + std::abs(expected[1])));
      }
    }
    EXPECT_NEAR(found, sum, 1e-5 * std::abs(sum));
  }
}

// The squashed form, whose density is exact: 1 - tanh(12)^2 is 0 in single precision.
TEST(SquashedGaussian, EntropyMovesSaturatedMeansBack) {
  Batch head(2, 2), slope(1, 2), weight(1, 2), delta(2, 2);
  SampledActions sampled(1, 2);
  for (int s = 0; s < 2; ++s) {
    head.at(0, s) = s == 0 ? 12 : -12;
    weight.at(0, s) = 1;
  }
  sample_actions(head, kSquashed, sampled, all_blocks(head));
  head_gradient(head, kSquashed, sampled, slope, 0.3f, weight, delta, all_blocks(head));
  for (int s = 0; s < 2; ++s) {
    const Squashed expected(kSquashed, head.at(0, s), head.at(1, s), 0);
    EXPECT_NEAR(sampled.log_probability.at(0, s), expected.log_probability, 1e-5);
    EXPECT_NEAR(delta.at(0, s), s == 0 ? 0.6 : -0.6, 1e-6);
  }
}

TEST_P(EachLogStd, StaysFiniteWhereItSaturates) {
  const int actions = 1;
  const float means[] = {-1e4f, -20, 0, 20, 1e4f}, log_stds[] = {-1e4f, -20, 2, 1e4f};
  Batch head(2, 20), slope(actions, 20), weight(1, 20), delta(2, 20);
  SampledActions sampled(actions, 20);
  for (int s = 0; s < 20; ++s) {
    head.at(0, s) = means[s % 5];
    head.at(1, s) = log_stds[s / 5];
    sampled.noise.at(0, s) = s % 2 ? 4 : -4;
    slope.at(0, s) = 1;
    weight.at(0, s) = 1;
  }
  sample_actions(head, GetParam(), sampled, all_blocks(head));
  head_gradient(head, GetParam(), sampled, slope, 1, weight, delta, all_blocks(head));
  for (int s = 0; s < 20; ++s) {
    EXPECT_TRUE(std::isfinite(sampled.log_probability.at(0, s))) << "sample " << s;
    EXPECT_LE(std::abs(sampled.action.at(0, s)), 1);
    EXPECT_TRUE(std::isfinite(delta.at(0, s))) << "sample " << s;
    // no gradient beyond the range, whichever side
    if (head.at(1, s) < kMinLogStd || head.at(1, s) > kMaxLogStd) {
      EXPECT_NEAR(delta.at(1, s), 0, GetParam() == kClamped ? 0 : 1e-3);
    } else {
      EXPECT_TRUE(std::isfinite(delta.at(1, s)));
    }
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
