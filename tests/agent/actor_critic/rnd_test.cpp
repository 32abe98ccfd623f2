// Random network distillation: prediction errors and bonuses, which never enter the replay buffer.
// Whole updates with it are in learner_test.cpp.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "agent/actor_critic/bonus.h"
#include "agent/actor_critic/reference_learner.h"
#include "agent/agent_fixture.h"
#include "sanitizer.h"

namespace ovde {
namespace OVDE_TEST_FILE {

constexpr int kRndObservations = 3, kBatch = 64;

LearnerOptions rnd_options(float scale = 1) {
  LearnerOptions options;
  options.observation_size = kRndObservations;
  options.action_size = 2;
  options.network.hidden = {16};
  options.critic.quantiles = 4;
  options.train.batch = kBatch;
  options.rnd = {.bonus = Bonus::plain, .scale = scale};
  options.rnd_network = {{32, 32}, 8};
  options.train.adam.learning_rate = 1e-3f;
  options.seed = 6;
  return options;
}

std::span<const double> statistic(Rnd& rnd, const std::string& name) {
  LearnerState state;
  rnd.add_state(state);
  for (const auto& [known, values] : state.statistics) {
    if (known == name) return values;
  }
  return {};
}

class RndTest : public testing::Test {
 protected:
  RndTest() {
    for (int s = 0; s < kBatch; ++s) weight.at(0, s) = 1.0f / kBatch;
  }

  // A batch of observations around a center.
  Batch around(float center, std::uint64_t seed) {
    Batch batch(kRndObservations, kBatch);
    Random random(seed, Stream::user);
    for (int s = 0; s < kBatch; ++s) {
      for (int f = 0; f < kRndObservations; ++f)
        batch.at(f, s) = center + 0.3f * static_cast<float>(random.normal());
    }
    return batch;
  }

  double mean_bonus(const Batch& observations) {
    Batch reward(1, kBatch);
    for (const int half : {0, 1}) rnd.predict(observations, weight, half);
    rnd.add_bonus(nullptr, reward);
    double sum = 0;
    for (int s = 0; s < kBatch; ++s) sum += reward.at(0, s) / kBatch;
    return sum;
  }

  Rnd rnd{rnd_options()};
  Replay replay = filled_replay(kRndObservations, 2, 300);
  Batch weight{1, kBatch};
  Team team{1};
};

TEST_F(RndTest, MomentsAreThoseOfTheTransitions) {
  rnd.observe(replay);
  const auto found = statistic(rnd, "rnd.observations");
  ASSERT_EQ(found.size(), 1u + 2 * kRndObservations);
  EXPECT_EQ(found[0], 300);
  for (int f = 0; f < kRndObservations; ++f) {
    double mean = 0, squares = 0;
    for (int i = 0; i < 300; ++i) mean += replay.row(i).next_observation[f] / 300.0;
    for (int i = 0; i < 300; ++i) squares += std::pow(replay.row(i).next_observation[f] - mean, 2);
    EXPECT_NEAR(found[1 + f], mean, 1e-12);
    EXPECT_NEAR(found[1 + kRndObservations + f], squares, 1e-9);
  }
  EXPECT_EQ(statistic(rnd, "rnd.returns")[0], 300);
}

TEST_F(RndTest, TakesInEveryTransitionOnce) {
  rnd.observe(replay);
  rnd.observe(replay);
  EXPECT_EQ(statistic(rnd, "rnd.observations")[0], 300);

  // older transitions have been overwritten
  const std::vector<float> observation(kRndObservations, 0.5f), action(2);
  for (int i = 0; i < 450; ++i) replay.add(observation, action, 0, observation, EpisodeEnd::none);
  rnd.observe(replay);
  EXPECT_EQ(statistic(rnd, "rnd.observations")[0], 600);
  EXPECT_EQ(statistic(rnd, "rnd.next_row")[0], 750);
}

TEST_F(RndTest, WhatWasLearntIsNoLongerNew) {
  rnd.observe(replay);
  const Batch near = around(0, 1), far = around(2.5f, 2);
  const double near_before = mean_bonus(near), far_before = mean_bonus(far);
  for (int i = 1; i <= 500; ++i) {
    mean_bonus(near);
    rnd.step(i, team);
  }
  EXPECT_LT(mean_bonus(near), 0.1 * near_before);
  EXPECT_GT(mean_bonus(far), 0.3 * far_before);
  EXPECT_GT(mean_bonus(far), 5 * mean_bonus(near));
}

TEST_F(RndTest, NormalisedObservationsAreClipped) {
  rnd.observe(replay);
  EXPECT_EQ(mean_bonus(around(100, 3)), mean_bonus(around(1000, 4)));
}

TEST_F(RndTest, ScaleIsAFactor) {
  Rnd tripled(rnd_options(3));
  tripled.observe(replay);
  rnd.observe(replay);
  const Batch at = around(0, 1);
  Batch reward(1, kBatch);
  for (const int half : {0, 1}) tripled.predict(at, weight, half);
  tripled.add_bonus(nullptr, reward);
  double sum = 0;
  for (int s = 0; s < kBatch; ++s) sum += reward.at(0, s) / kBatch;
  EXPECT_NEAR(sum, 3 * mean_bonus(at), 1e-5 * sum);
}

// Its mean over the batch is always scale (1 - discount), and new observations get most of it.
TEST_F(RndTest, ARelativeBonusDoesNotFade) {
  LearnerOptions options = rnd_options(3);
  options.rnd.relative = true;
  Rnd relative(options);
  relative.observe(replay);
  const Batch near = around(0, 1), far = around(2.5f, 2);
  const auto bonuses = [&](const Batch& observations) {
    Batch reward(1, kBatch);
    for (const int half : {0, 1}) relative.predict(observations, weight, half);
    relative.add_bonus(nullptr, reward);
    std::vector<double> all;
    for (int s = 0; s < kBatch; ++s) all.push_back(reward.at(0, s));
    return all;
  };
  const auto mean = [](const std::vector<double>& x) {
    double sum = 0;
    for (const double v : x) sum += v / static_cast<double>(x.size());
    return sum;
  };
  EXPECT_NEAR(mean(bonuses(near)), 3 * (1 - options.train.discount), 1e-6);
  for (int i = 1; i <= 500; ++i) {
    bonuses(near);
    relative.step(i, team);
  }
  EXPECT_NEAR(mean(bonuses(near)), 3 * (1 - options.train.discount), 1e-6);

  Batch mixed = near;  // one of them is elsewhere
  for (int f = 0; f < kRndObservations; ++f) mixed.at(f, 5) = far.at(f, 5);
  const auto found = bonuses(mixed);
  EXPECT_GT(found[5], 0.25 * mean(found) * kBatch);
}

TEST(Rnd, ChangesNeitherRandomNetworkNorReplayBuffer) {
  Learner learner(rnd_options());
  Replay replay = filled_replay(kRndObservations, 2, 300);
  const auto random_network = [&] {
    for (const auto& [name, values] : learner.state().arrays) {
      if (name == "rnd.target") return std::vector<float>(values.begin(), values.end());
    }
    return std::vector<float>();
  };
  const auto rows = replay.raw(0, 300);
  const std::vector<float> before(rows.begin(), rows.end());
  const auto network = random_network();
  Team team(1);
  for (int i = 0; i < 20; ++i) learner.update(replay, team);
  EXPECT_EQ(before, std::vector<float>(rows.begin(), rows.end()));
  ASSERT_FALSE(network.empty());
  EXPECT_EQ(network, random_network());
}

// The reference's own gradient, by central differences.
TEST(Rnd, GradientOfTheReferenceMatchesCentralDifferences) {
  SKIP_UNDER_SANITIZER("evaluates a plain reference thousands of times");
  Learner learner(rnd_options());
  reference::LearnerReference reference(learner);
  const Replay replay = filled_replay(kRndObservations, 2, 100);
  reference.observe(replay);
  std::vector<reference::Vec> inputs;
  for (int i = 0; i < 5; ++i)
    inputs.push_back(reference.normalised(reference.series.observations[i]));
  std::vector<int> which;
  Random random(8, Stream::user);
  for (int l = 0; l < reference.rnd_shape.layers(); ++l) {
    const auto& layer = reference.rnd_shape.layer(l);
    for (int n = 0; n < 10; ++n) {
      which.push_back(static_cast<int>(layer.weights + random.below(layer.outputs) * layer.stride +
                                       random.below(layer.inputs)));
      which.push_back(static_cast<int>(layer.bias + random.below(layer.outputs)));
    }
  }
  const auto found = reference.predictor_gradient(inputs);
  const auto expected = reference::gradient(
      [&](const reference::Vec& p) { return reference.predictor_loss(p, inputs); },
      reference.predictor.parameters, which);
  for (std::size_t i = 0; i < which.size(); ++i)
    EXPECT_NEAR(found[which[i]], expected[i], 1e-5 * (1 + std::abs(expected[i])));
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
