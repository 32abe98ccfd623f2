// The behaviour policies against re-derivations in double precision with gradients by central
// differences, and at the edges of their definitions.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include <ovde/error.h>
#include "agent/critic/reference_critics.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using reference::OvdReference;
using reference::Vec;

constexpr int kObservations = 5, kActions = 3, kQuantiles = 7;

struct OvdCase {
  CurrentReturn kind;
  GradientForm form;
  int samples;
};

std::string name_of(const testing::TestParamInfo<OvdCase>& info) {
  const char* kinds[] = {"Gaussian", "Quantiles", "Mean"};
  const char* forms[] = {"Unit", "Raw", "Full"};
  return std::string(kinds[static_cast<int>(info.param.kind)]) +
         forms[static_cast<int>(info.param.form)] + std::to_string(info.param.samples) + "Samples";
}

ActorHead random_head(std::uint64_t seed) {
  Random random(seed, Stream::user);
  ActorHead head(kActions);
  for (double& m : head.mean) m = 0.5 * random.normal();
  for (double& s : head.std) s = std::exp(random.uniform(-2, 0.5));
  return head;
}

struct Shift {
  Vec mean;
  double m;
};

Shift shift(Explorer& explorer, reference::Critics& critics, const ActorHead& head, Random random) {
  Shift result{head.mean, 0};
  result.m = explorer.shift(critics.observation, head, critics.pair, random, result.mean);
  return result;
}

class OvdTest : public testing::TestWithParam<OvdCase> {};

TEST_P(OvdTest, ShiftMatchesTheReDerivation) {
  const OvdCase c = GetParam();
  // alpha large, so that the step is seen in all digits; beta small, so that Phi is not close to 1
  // and its central differences are good for something
  const OvdRule rule{.current_return = c.kind,
                     .alpha = 1,
                     .beta = 0.3,
                     .normaliser = 0.7,
                     .gradient = c.form,
                     .samples = c.samples};
  auto explorer = make_rule_explorer(rule, kActions, kQuantiles);
  int inside = 0;
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    // the paper's uncertainties, then the published code's
    const UncertaintyForm uncertainties[] = {{}, {EpistemicForm::means, VarianceForm::unbiased}};
    reference::Critics critics(kObservations, kActions, kQuantiles, seed % 8, 1,
                               uncertainties[seed / 8]);
    const ActorHead head = random_head(seed);
    const OvdReference reference{critics, rule};

    Random random(seed, Stream::explorer);
    const int samples = std::max(c.samples, 1);
    Vec expected = head.mean;
    double m = 0;
    for (int k = 0; k < samples; ++k) {
      const double noise = c.samples > 0 ? random.normal() : 0;
      const double phi = reference.cdf(head.mean, noise);
      const bool flat =
          c.kind == CurrentReturn::quantiles && (phi == 1 || phi == 1 / (2.0 * kQuantiles));
      inside += !flat;
      // where Phi is flat the full form has nothing to follow and takes the gradient of zbar
      OvdReference at = reference;
      if (flat && c.form == GradientForm::full) at.options.gradient = GradientForm::unit;
      const Vec step = at.step(head.mean, noise);
      for (int d = 0; d < kActions; ++d) expected[d] += step[d] / samples;
      m += reference.weight(head.mean, noise) / samples;
    }
    const Shift found = shift(*explorer, critics, head, Random(seed, Stream::explorer));
    EXPECT_NEAR(found.m, m, 1e-5);
    for (int d = 0; d < kActions; ++d)
      EXPECT_NEAR(found.mean[d], expected[d], 2e-4) << "seed " << seed << ", action " << d;
  }
  EXPECT_GT(inside, 3);  // the cases are not all at the bounds of Phi
}

INSTANTIATE_TEST_SUITE_P(Forms, OvdTest,
                         testing::Values(OvdCase{CurrentReturn::gaussian, GradientForm::unit, 0},
                                         OvdCase{CurrentReturn::gaussian, GradientForm::raw, 0},
                                         OvdCase{CurrentReturn::gaussian, GradientForm::full, 0},
                                         OvdCase{CurrentReturn::quantiles, GradientForm::unit, 0},
                                         OvdCase{CurrentReturn::quantiles, GradientForm::raw, 0},
                                         OvdCase{CurrentReturn::quantiles, GradientForm::full, 0},
                                         OvdCase{CurrentReturn::mean, GradientForm::unit, 0},
                                         OvdCase{CurrentReturn::mean, GradientForm::raw, 0},
                                         OvdCase{CurrentReturn::mean, GradientForm::full, 0},
                                         OvdCase{CurrentReturn::gaussian, GradientForm::unit, 8},
                                         OvdCase{CurrentReturn::gaussian, GradientForm::raw, 3},
                                         OvdCase{CurrentReturn::gaussian, GradientForm::full, 8},
                                         OvdCase{CurrentReturn::quantiles, GradientForm::unit, 8},
                                         OvdCase{CurrentReturn::quantiles, GradientForm::raw, 3},
                                         OvdCase{CurrentReturn::quantiles, GradientForm::full, 8},
                                         OvdCase{CurrentReturn::mean, GradientForm::unit, 1},
                                         OvdCase{CurrentReturn::mean, GradientForm::raw, 8},
                                         OvdCase{CurrentReturn::mean, GradientForm::full, 8}),
                         name_of);

TEST(Ovd, EachAscentBeginsWhereTheLastOneEnded) {
  const OvdRule rule{.alpha = 0.5, .beta = 0.3, .samples = 2, .ascents = 3};
  auto explorer = make_rule_explorer(rule, kActions, kQuantiles);
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    reference::Critics critics(kObservations, kActions, kQuantiles, seed, 1, {});
    const ActorHead head = random_head(seed);
    const OvdReference reference{critics, rule};
    Random random(seed, Stream::explorer);
    const double noise[] = {random.normal(), random.normal()};  // the same for every ascent
    Vec expected = head.mean;
    double m = 0;
    for (int ascent = 0; ascent < 3; ++ascent) {
      const Vec from = expected;
      for (const double eps : noise) {
        const Vec step = reference.step(from, eps);
        for (int d = 0; d < kActions; ++d) expected[d] += step[d] / 2;
        m += reference.weight(from, eps) / 6;
      }
    }
    const Shift found = shift(*explorer, critics, head, Random(seed, Stream::explorer));
    EXPECT_NEAR(found.m, m, 1e-5);
    for (int d = 0; d < kActions; ++d) EXPECT_NEAR(found.mean[d], expected[d], 2e-4);
  }
}

// With the default beta Phi is all but 1 and its own differences vanish; the direction is that of
// the argument of the normal distribution.
TEST(Ovd, FullGradientOutlivesASaturatedCdf) {
  const OvdRule rule{.alpha = 1, .beta = 30, .gradient = GradientForm::full};
  auto explorer = make_rule_explorer(rule, kActions, kQuantiles);
  reference::Critics critics(kObservations, kActions, kQuantiles, 4);
  const ActorHead head = random_head(4);
  const auto argument = [&](const Vec& u) {
    const auto z = critics.quantiles(u);
    return 2 * rule.beta * reference::epistemic(z) / reference::aleatoric(z);
  };
  ASSERT_EQ(reference::gaussian_cdf(argument(head.mean), 0, 1), 1);
  const Vec g = reference::gradient(argument, head.mean);
  double length = 0;
  for (const double x : g) length += x * x;
  const Shift found = shift(*explorer, critics, head, Random());
  for (int d = 0; d < kActions; ++d) {
    EXPECT_NEAR(found.mean[d] - head.mean[d], (1 - std::log(0.5)) * g[d] / std::sqrt(length), 2e-4);
  }
}

TEST(Ovd, OtherExplorersHaveNoRule) {
  const OptionValues options(explorer_options("ovde_q"));
  EXPECT_EQ(ovd_rule("ovde_q", options).current_return, CurrentReturn::quantiles);
  EXPECT_THROW(ovd_rule("doac", options), Error);
  EXPECT_THROW(ovd_rule("", options), Error);
}

TEST(Oac, ShiftMatchesTheReDerivation) {
  for (const int quantiles : {1, kQuantiles}) {  // OAC and DOAC
    auto explorer = make_rule_explorer(OacRule{}, kActions, quantiles);
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      reference::Critics critics(kObservations, kActions, quantiles, seed);
      const ActorHead head = random_head(seed);
      const auto bound = [&](const Vec& u) {
        const auto z = critics.quantiles(u);
        const double q1 = reference::mean(z[0]), q2 = reference::mean(z[1]);
        return (q1 + q2) / 2 + 4.66 * std::abs(q1 - q2) / 2;
      };
      const Vec g = reference::gradient(bound, head.mean);
      double square = 0;
      for (int d = 0; d < kActions; ++d) square += std::pow(head.std[d], 2) * g[d] * g[d];
      const Shift found = shift(*explorer, critics, head, Random());
      EXPECT_TRUE(std::isnan(found.m));
      for (int d = 0; d < kActions; ++d) {
        const double step =
            std::sqrt(2 * 23.53) * std::pow(head.std[d], 2) * g[d] / (std::sqrt(square) + 1e-5);
        EXPECT_NEAR(found.mean[d] - head.mean[d], step, 1e-3 * (1 + std::abs(step)))
            << "seed " << seed << ", action " << d;
      }
    }
  }
}

// Everything that may meet at an edge, in every combination: a finite step, no longer than alpha *
// m where the gradient is normalised.
TEST(Explorers, StayFiniteAtTheEdges) {
  enum Edge {
    kNone,
    kEqualCritics,
    kOneQuantileDominates,
    kEqualQuantiles,  // no aleatoric uncertainty
    kAllEqual,        // and no epistemic either
    kZeroWeights,
    kConstantQuantiles,
    kEdges
  };
  for (int edge = 0; edge < kEdges; ++edge) {
    reference::Critics critics(kObservations, kActions, kQuantiles, 5);
    const auto& last = critics.shape.layer(critics.shape.layers() - 1);
    for (Buffer& p : critics.parameters) {
      if (edge == kOneQuantileDominates) p[last.bias + 2] = 1e6f;
      if (edge == kEqualQuantiles || edge == kAllEqual) {
        for (int i = 1; i < kQuantiles; ++i) {
          std::copy_n(p.begin() + last.weights, last.stride,
                      p.begin() + last.weights + i * last.stride);
          p[last.bias + i] = p[last.bias];
        }
      }
      if (edge == kZeroWeights) std::ranges::fill(p, 0.0f);
      if (edge == kConstantQuantiles) {  // both critics the same number whatever the action
        std::ranges::fill(p, 0.0f);
        for (int i = 0; i < kQuantiles; ++i) p[last.bias + i] = -3;
      }
    }
    if (edge == kEqualCritics || edge == kAllEqual) critics.parameters[1] = critics.parameters[0];
    critics.load();

    for (const double mean : {0.0, 0.4, -20.0, 20.0}) {
      for (const double std : {std::exp(-20.0), 1.0, std::exp(2.0)}) {
        ActorHead head(kActions);
        std::ranges::fill(head.mean, mean);
        std::ranges::fill(head.std, std);
        for (const double beta : {0.0, 3.2, 1e3}) {
          for (const auto form : {GradientForm::unit, GradientForm::raw, GradientForm::full}) {
            for (const auto kind :
                 {CurrentReturn::gaussian, CurrentReturn::quantiles, CurrentReturn::mean}) {
              for (const int samples : {0, 4}) {
                const OvdRule rule{
                    .current_return = kind, .beta = beta, .gradient = form, .samples = samples};
                auto explorer = make_rule_explorer(rule, kActions, kQuantiles);
                const Shift found = shift(*explorer, critics, head, Random(1, Stream::explorer));
                ASSERT_TRUE(std::isfinite(found.m)) << "edge " << edge;
                double square = 0;
                for (int d = 0; d < kActions; ++d) {
                  ASSERT_TRUE(std::isfinite(found.mean[d])) << "edge " << edge;
                  square += std::pow(found.mean[d] - mean, 2);
                }
                if (form != GradientForm::raw && samples == 0) {
                  ASSERT_LE(std::sqrt(square), 0.05 * std::abs(found.m) + 1e-12);
                }
                if (edge == kZeroWeights || edge == kConstantQuantiles) {
                  ASSERT_EQ(square, 0);
                }
              }
            }
          }
        }
        auto explorer = make_rule_explorer(OacRule{}, kActions, kQuantiles);
        const Shift found = shift(*explorer, critics, head, Random());
        for (int d = 0; d < kActions; ++d)
          ASSERT_TRUE(std::isfinite(found.mean[d])) << "edge " << edge;
        if (edge == kZeroWeights) {
          ASSERT_EQ(found.mean, head.mean);
        }
      }
    }
  }
}

// Without epistemic uncertainty the upper bound is the mean, where the Gaussian CDFs are 1/2.
TEST(Ovd, EqualCriticsGiveTheCentreOfTheGaussian) {
  reference::Critics critics(kObservations, kActions, kQuantiles, 6);
  critics.parameters[1] = critics.parameters[0];
  critics.load();
  for (const auto kind : {CurrentReturn::gaussian, CurrentReturn::mean}) {
    const OvdRule rule{.current_return = kind, .normaliser = 0.5};
    auto explorer = make_rule_explorer(rule, kActions, kQuantiles);
    EXPECT_NEAR(shift(*explorer, critics, random_head(6), Random()).m, 1, 1e-9);
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
