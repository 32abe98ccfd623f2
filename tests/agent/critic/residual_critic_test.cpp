// The quantile critic on a residual network: which statistics each of its passes uses.
#include <gtest/gtest.h>

#include <cmath>

#include "agent/agent_fixture.h"
#include "agent/critic/quantile_critic.h"
#include "nn/residual_reference.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using reference::Samples;
using reference::to_double;
using reference::Vec;

class ResidualCriticTest : public testing::Test {
 protected:
  static constexpr int kBatch = 21;

  static LearnerOptions residual_options() {
    LearnerOptions options = odd_agent("dsac", CriticHead::qr, false, kBatch).learner;
    make_residual(options.network);
    options.network.targets = TargetStart::own;
    return options;
  }
  Batch random_batch(int features, double scale = 1) {
    Batch batch(features, kBatch);
    for (int s = 0; s < kBatch; ++s) {
      for (int f = 0; f < features; ++f)
        batch.at(f, s) = static_cast<float>(scale * random.normal());
    }
    return batch;
  }
  static Samples samples_of(const Batch& first, const Batch& second) {
    Samples all;
    for (const Batch* batch : {&first, &second}) {
      for (int s = 0; s < kBatch; ++s) {
        Vec x;
        for (int f = 0; f < batch->features(); ++f) x.push_back(batch->at(f, s));
        all.push_back(x);
      }
    }
    return all;
  }
  void learn() {
    critic.learn({state_action, next}, targets, weight, options.train.polyak, updates++);
  }

  LearnerOptions options = residual_options();
  int inputs = options.observation_size + options.action_size, n = options.critic.quantiles;
  ResidualShape shape{inputs, options.network.width, options.network.blocks,
                      options.network.expansion, n};
  Random random{5, Stream::user};
  QuantileCritic critic{options, 0};
  std::uint64_t updates = 0;
  Batch state_action = random_batch(inputs), next = random_batch(inputs, 3);
  Batch targets = random_batch(n), weight{1, kBatch};
  ResidualCriticTest() {
    for (int s = 0; s < kBatch; ++s) weight.at(0, s) = 1.0f / kBatch;
  }
};

TEST_F(ResidualCriticTest, TargetsShareTheStatisticsOfBothBatches) {
  learn();
  const Batch& found = critic.target_values({state_action, next}, 1);
  const Samples expected = reference::residual(shape, to_double(critic.network().target),
                                               samples_of(state_action, next));
  for (int s = 0; s < kBatch; ++s) {
    for (int i = 0; i < n; ++i) EXPECT_NEAR(found.at(i, s), expected[kBatch + s][i], 2e-5);
  }
}

// The loss of one quantile against one target: |tau - 1{u < 0}| huber(u).
TEST_F(ResidualCriticTest, LossIsThatOfTheFirstBatch) {
  const Samples z = reference::residual(shape, to_double(critic.network().parameters),
                                        samples_of(state_action, next));
  double expected = 0;
  for (int s = 0; s < kBatch; ++s) {
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) {
        const double u = targets.at(i, s) - z[s][j], tau = (j + 0.5) / n;
        const double huber = std::abs(u) <= 1 ? u * u / 2 : std::abs(u) - 0.5;
        expected += std::abs(tau - (u < 0)) * huber / n / kBatch;
      }
    }
  }
  EXPECT_NEAR(critic.learn({state_action, next}, targets, weight, 0, 0), expected, 1e-5);
}

TEST_F(ResidualCriticTest, ActorsSeeTheRunningStatistics) {
  for (int i = 0; i < 5; ++i) learn();
  const Vec statistics = to_double(critic.network().statistics);
  const Vec parameters = to_double(critic.network().parameters);
  EXPECT_GT(std::abs(statistics[shape.norms()[2].mean]), 1e-4);
  critic.evaluate(state_action, true, updates);
  const Samples samples = samples_of(state_action, next);
  Batch share(1, kBatch);
  for (int s = 0; s < kBatch; ++s) share.at(0, s) = s % 3 == 0 ? 0.5f : 0.0f;
  const Batch& gradient = critic.action_gradient(share, all_blocks(share));
  for (int s = 0; s < kBatch; ++s) {
    const auto mean = [&](const Vec& x) {
      const Vec z = reference::residual(shape, parameters, {x}, &statistics)[0];
      double sum = 0;
      for (const double value : z) sum += value / n;
      return sum;
    };
    EXPECT_NEAR(critic.mean().at(0, s), mean(samples[s]), 2e-5);
    const Vec slope = reference::gradient(mean, samples[s]);
    for (int d = 0; d < options.action_size; ++d)
      EXPECT_NEAR(gradient.at(d, s), share.at(0, s) * slope[options.observation_size + d], 1e-4);
  }
}

// Explorers climb the same function.
TEST_F(ResidualCriticTest, ActingPairHasTheCriticsValues) {
  for (int i = 0; i < 5; ++i) learn();
  const auto pair = make_critic_pair(options);
  pair->load(critic.acting_parameters(), critic.acting_parameters());
  critic.evaluate(state_action, true, updates);
  for (int s = 0; s < kBatch; ++s) {
    std::vector<float> observation, action;
    for (int f = 0; f < inputs; ++f)
      (f < options.observation_size ? observation : action).push_back(state_action.at(f, s));
    const QuantilePair& z = pair->quantiles(observation, action, random);
    for (int i = 0; i < n; ++i) EXPECT_NEAR(z.critic[0][i], critic.values().at(i, s), 2e-5);
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
