// The categorical critic: its loss, its targets and its quantiles against independent computations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "agent/agent_fixture.h"
#include "agent/critic/categorical_critic.h"
#include "agent/learning.h"
#include "reference.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using reference::Vec;

constexpr int kAtoms = 11, kSamples = 5;
constexpr double kLow = -2, kHigh = 3, kStep = (kHigh - kLow) / (kAtoms - 1);

LearnerOptions categorical_options() {
  LearnerOptions options = small_agent("dsac").learner;
  options.critic.head = CriticHead::categorical;
  options.critic.atoms = kAtoms;
  options.critic.low = kLow;
  options.critic.high = kHigh;
  options.train.batch = kSamples;
  return options;
}

double value_of(int j) { return kLow + kStep * j; }

Vec softmax_of(const Vec& logits) {
  Vec p;
  double sum = 0;
  for (const double x : logits) sum += std::exp(x);
  for (const double x : logits) p.push_back(std::exp(x) / sum);
  return p;
}

Vec random_logits(Random& random) {
  Vec logits(kAtoms);
  for (double& x : logits) x = 1.5 * random.normal();
  return logits;
}

void fill(Batch& batch, int s, const Vec& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    batch.at(static_cast<int>(i), s) = static_cast<float>(values[i]);
}

// A probability at y is shared by the values around it as by a triangle of width 2 steps.
void add_projected(double y, double probability, Vec& out) {
  const double inside = std::clamp(y, kLow, kHigh);
  for (int j = 0; j < kAtoms; ++j)
    out[j] += probability * std::max(0.0, 1 - std::abs(inside - value_of(j)) / kStep);
}

struct Transitions {
  explicit Transitions(const LearnerOptions& options)
      : batch(options), log_probability(1, kSamples), random(5, Stream::user) {
    for (int s = 0; s < kSamples; ++s) {
      batch.reward.at(0, s) = static_cast<float>(random.normal());
      batch.continues.at(0, s) = s == 2 ? 0 : 0.9f;
      log_probability.at(0, s) = static_cast<float>(random.normal());
    }
  }
  double target(int s, double z, double alpha) const {
    return batch.reward.at(0, s) +
           batch.continues.at(0, s) * (z - alpha * log_probability.at(0, s));
  }
  ReplayBatch batch;
  Batch log_probability;
  Random random;
};

TEST(Categorical, TargetsAreTheProjectionOfTheSmallerCritic) {
  const LearnerOptions options = categorical_options();
  const CategoricalCritic critic(options, 0);
  for (const float optimism : {-1.0f, 0.4f}) {
    Transitions t(options);
    Batch first(kAtoms, kSamples), second(kAtoms, kSamples), targets(kAtoms, kSamples);
    std::vector<Vec> expected(kSamples, Vec(kAtoms));
    int first_smaller = 0;
    for (int s = 0; s < kSamples; ++s) {
      const Vec p = softmax_of(random_logits(t.random)), q = softmax_of(random_logits(t.random));
      fill(first, s, p);
      fill(second, s, q);
      double difference = 0;
      for (int j = 0; j < kAtoms; ++j) difference += (p[j] - q[j]) * value_of(j);
      first_smaller += difference < 0;
      const Vec &low = difference < 0 ? p : q, &high = difference < 0 ? q : p;
      for (int j = 0; j < kAtoms; ++j)
        add_projected(t.target(s, value_of(j), 0.3),
                      low[j] * (1 - optimism) / 2 + high[j] * (1 + optimism) / 2, expected[s]);
    }
    EXPECT_GT(first_smaller, 0);
    EXPECT_LT(first_smaller, kSamples);
    critic.fill_targets(t.batch, {&first, &second, nullptr, {&first, &second}}, 0.3f,
                        t.log_probability, blend_of(optimism), targets, all_blocks(targets));
    for (int s = 0; s < kSamples; ++s) {
      for (int j = 0; j < kAtoms; ++j)
        EXPECT_NEAR(targets.at(j, s), expected[s][j], 1e-5) << s << " " << j;
    }
  }
}

TEST(Categorical, ChosenTargetsHaveEqualProbabilities) {
  const LearnerOptions options = categorical_options();
  const CategoricalCritic critic(options, 0);
  Transitions t(options);
  Batch kept(4, kSamples), targets(kAtoms, kSamples);
  std::vector<Vec> expected(kSamples, Vec(kAtoms));
  for (int s = 0; s < kSamples; ++s) {
    for (int i = 0; i < 4; ++i) {
      kept.at(i, s) = static_cast<float>(2 * t.random.normal());
      add_projected(t.target(s, kept.at(i, s), 0), 0.25, expected[s]);
    }
  }
  critic.fill_targets(t.batch, {&kept, &kept, nullptr, {}}, 0, t.log_probability, blend_of(0),
                      targets, all_blocks(targets));
  for (int s = 0; s < kSamples; ++s) {
    for (int j = 0; j < kAtoms; ++j) EXPECT_NEAR(targets.at(j, s), expected[s][j], 1e-5);
  }
}

TEST(Categorical, ATargetThatIsNotANumberStaysOne) {
  double sum = 0;
  project(Support(categorical_options().critic), std::nanf(""), 1,
          [&](int, float part) { sum += part; });
  EXPECT_TRUE(std::isnan(sum));
}

TEST(Categorical, LossAndGradientMatchTheirDefinition) {
  Random random(6, Stream::user);
  Batch logits(kAtoms, kSamples), p(kAtoms, kSamples), targets(kAtoms, kSamples),
      gradient(kAtoms, kSamples), weight(1, kSamples);
  double expected = 0;
  std::vector<Vec> logit, target;
  const auto loss_of = [](const Vec& x, const Vec& m) {
    const Vec q = softmax_of(x);
    double sum = 0;
    for (int j = 0; j < kAtoms; ++j) sum -= m[j] * std::log(q[j]);
    return sum;
  };
  for (int s = 0; s < kSamples; ++s) {
    logit.push_back(random_logits(random));
    target.push_back(softmax_of(random_logits(random)));
    if (s == 0) target[0] = Vec(kAtoms), target[0][3] = 1;
    fill(logits, s, logit[s]);
    fill(targets, s, target[s]);
    weight.at(0, s) = 0.1f * static_cast<float>(s + 1);
    expected += 0.1 * (s + 1) * loss_of(logit[s], target[s]);
  }
  const Blocks blocks = all_blocks(weight);
  softmax(logits, p, blocks);
  EXPECT_NEAR(cross_entropy(targets, logits, p, weight, gradient, blocks), expected, 1e-5);
  for (int s = 0; s < kSamples; ++s) {
    const Vec by =
        reference::gradient([&](const Vec& x) { return loss_of(x, target[s]); }, logit[s]);
    for (int j = 0; j < kAtoms; ++j) EXPECT_NEAR(gradient.at(j, s), 0.1 * (s + 1) * by[j], 1e-5);
  }
}

TEST(Categorical, LargeLogitsDoNotOverflow) {
  Batch logits(2, 1), p(2, 1);
  logits.at(0, 0) = 300;
  logits.at(1, 0) = -300;
  softmax(logits, p, all_blocks(p));
  EXPECT_EQ(p.at(0, 0), 1);
  EXPECT_NEAR(p.at(1, 0), 0, 1e-30);
}

// The mean of the inverse CDF over each N-th part, by a fine grid of fractions.
TEST(Categorical, QuantilesAreMeansOfThePartsOfTheDistribution) {
  const Support support(categorical_options().critic);
  Random random(7, Stream::user);
  constexpr int kQuantiles = 4, kGrid = 20'000;
  const Vec p = softmax_of(random_logits(random));
  Vec found(kQuantiles);
  quantiles_of(support, p, found);
  double mean = 0;
  for (int j = 0; j < kAtoms; ++j) mean += p[j] * value_of(j);
  EXPECT_NEAR((found[0] + found[1] + found[2] + found[3]) / 4, mean, 1e-6);
  for (int i = 0; i < kQuantiles; ++i) {
    double sum = 0;
    for (int k = 0; k < kGrid; ++k) {
      const double fraction = (i + (k + 0.5) / kGrid) / kQuantiles;
      int j = 0;
      for (double cdf = p[0]; cdf < fraction && j < kAtoms - 1; cdf += p[j]) ++j;
      sum += value_of(j) / kGrid;
    }
    EXPECT_NEAR(found[i], sum, 1e-3);
  }
}

TEST(Categorical, QuantileGradientMatchesCentralDifferences) {
  const Support support(categorical_options().critic);
  Random random(8, Stream::user);
  for (const int quantiles : {1, 4, 30}) {
    const Vec logits = random_logits(random);
    Vec by_quantile(quantiles), found(kAtoms);
    for (double& g : by_quantile) g = random.normal();
    quantile_gradient(support, softmax_of(logits), by_quantile, found);
    const Vec expected = reference::gradient(
        [&](const Vec& x) {
          Vec z(quantiles);
          quantiles_of(support, softmax_of(x), z);
          double sum = 0;
          for (int i = 0; i < quantiles; ++i) sum += by_quantile[i] * z[i];
          return sum;
        },
        logits);
    for (int j = 0; j < kAtoms; ++j) EXPECT_NEAR(found[j], expected[j], 1e-5) << quantiles;
  }
}

// The networks with values of order one, at one state and action.
class CategoricalNetworks : public testing::Test {
 protected:
  CategoricalNetworks() { spread_parameters(learner, 9); }

  Vec logits(int k, const Vec& action) {
    Vec input = {0.3, -1, 0.5};
    input.insert(input.end(), action.begin(), action.end());
    return reference::mlp(critic_acting_shape(options, kAtoms),
                          reference::to_double(learner.critic(k)), input);
  }

  LearnerOptions options = categorical_options();
  Learner learner{options};
  const Vec action = {0.2, -0.4};
};

TEST_F(CategoricalNetworks, ActingGivesQuantilesAndTheirActionGradient) {
  const auto pair = make_critic_pair(options);
  pair->load(learner.critic(0), learner.critic(1));
  Random random(1, Stream::user);
  const std::vector<float> observation = {0.3f, -1, 0.5f}, at = {0.2f, -0.4f};
  const Support support(options.critic);
  const auto quantiles = [&](int k, const Vec& a) {
    Vec z(options.critic.quantiles);
    quantiles_of(support, softmax_of(logits(k, a)), z);
    return z;
  };
  const QuantilePair z = pair->quantiles(observation, at, random);
  QuantilePair by(options.critic.quantiles);
  for (int k = 0; k < 2; ++k) {
    const Vec expected = quantiles(k, action);
    for (int i = 0; i < z.size(); ++i) {
      EXPECT_NEAR(z.critic[k][i], expected[i], 1e-4);
      by.critic[k][i] = random.normal();
    }
  }
  Vec gradient(2);
  pair->action_gradient(by, gradient);
  const Vec expected = reference::gradient(
      [&](const Vec& a) {
        double sum = 0;
        for (int k = 0; k < 2; ++k) {
          const Vec now = quantiles(k, a);
          for (int i = 0; i < z.size(); ++i) sum += by.critic[k][i] * now[i];
        }
        return sum;
      },
      action);
  for (int d = 0; d < 2; ++d)
    EXPECT_NEAR(gradient[d], expected[d], 1e-3 * (1 + std::abs(expected[d])));
}

TEST_F(CategoricalNetworks, TheMeanHasAnActionGradient) {
  CategoricalCritic critic(options, 0);
  std::ranges::copy(learner.critic(0), critic.network().parameters.begin());
  critic.restored();
  Batch state_action(5, kSamples), share(1, kSamples);
  for (int s = 0; s < kSamples; ++s) {
    fill(state_action, s, {0.3, -1, 0.5, 0.2, -0.4});
    share.at(0, s) = static_cast<float>(s);
  }
  critic.evaluate(state_action, true, 0);
  const auto mean = [&](const Vec& a) {
    const Vec p = softmax_of(logits(0, a));
    double sum = 0;
    for (int j = 0; j < kAtoms; ++j) sum += p[j] * value_of(j);
    return sum;
  };
  const Vec expected = reference::gradient(mean, action);
  const Batch& found = critic.action_gradient(share, all_blocks(share));
  for (int s = 0; s < kSamples; ++s) {
    EXPECT_NEAR(critic.mean().at(0, s), mean(action), 1e-4);
    for (int d = 0; d < 2; ++d) EXPECT_NEAR(found.at(d, s), s * expected[d], 1e-3);
  }
}

// Every transition ends: the distribution to be learnt is that of the reward, 1 or 2.
TEST(Categorical, LearnsTheDistributionOfTheReward) {
  LearnerOptions options = categorical_options();
  options.train.batch = 32;
  options.train.adam.learning_rate = 3e-3f;
  Learner learner(options);
  Replay replay(3, 2, 200);
  Random random(3, Stream::user);
  for (int n = 0; n < 200; ++n) {
    const std::vector<float> s = {0, 0, 1}, a = {static_cast<float>(random.uniform(-1, 1)), 0};
    replay.add(s, a, n % 2 == 0 ? 1.0f : 2.0f, s, EpisodeEnd::terminal);
  }
  Team team(1);
  for (int i = 0; i < 400; ++i) learner.update(replay, team);
  const ValueReport report = learner.value_report();
  EXPECT_NEAR(report.mean, 1.5, 0.1);
  EXPECT_NEAR(report.aleatoric, 0.5, 0.1);
  EXPECT_LT(report.epistemic, 0.1);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
