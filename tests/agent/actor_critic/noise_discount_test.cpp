// How much of a bonus noise leaves, on numbers worked out by hand. Whole updates with it are in
// learner_test.cpp.
#include "agent/actor_critic/bonus.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "agent/agent.h"
#include "agent/equations.h"
#include "sanitizer.h"

namespace ovde {
namespace OVDE_TEST_FILE {

TEST(NoiseDiscount, HalfIsLeftAtTheToleratedNoise) {
  EXPECT_EQ(noise_discount(2, 2, 1), 0.5);
  EXPECT_EQ(noise_discount(3, 2, 1.5), 0.5);
  EXPECT_EQ(noise_discount(0, 2, 1), 1);
  EXPECT_EQ(noise_discount(6, 2, 1), 0.1);
}

TEST(NoiseDiscount, WithoutAnyNoiseAllIsLeft) { EXPECT_EQ(noise_discount(0, 0, 1), 1); }

TEST(NoiseDiscount, WhatIsNotFiniteStaysSo) {
  EXPECT_TRUE(std::isnan(noise_discount(NAN, NAN, 1)));
  EXPECT_TRUE(std::isnan(noise_discount(NAN, 1, 1)));
}

// A batch that fills no block: in its first sample the return is certain, in the others it is
// spread by 3.
class Discounting : public testing::Test {
 protected:
  static constexpr int kBatch = 3;

  const Batch& share(float tolerance, float unit, const Batch* weights = nullptr) {
    options.train.batch = kBatch;
    options.critic.quantiles = 2;
    options.rnd = {.bonus = Bonus::discounted, .tolerance = tolerance};
    discount = std::make_unique<NoiseDiscount>(options);
    for (int s = 0; s < kBatch; ++s) {
      // the middles of both critics' values are 5 +- spread
      const float spread = s == 0 ? 0.0f : 3.0f;
      first.at(0, s) = unit * (4 - spread);
      second.at(0, s) = unit * (6 - spread);
      first.at(1, s) = unit * (8 + spread);
      second.at(1, s) = unit * (2 + spread);
    }
    for (const int half : {0, 1}) discount->measure({&first, &second, weights}, half);
    discount->compare();
    return discount->share();
  }

  LearnerOptions options;
  std::unique_ptr<NoiseDiscount> discount;
  Batch first{2, kBatch}, second{2, kBatch};
};

TEST_F(Discounting, NoiseCountsRelativeToItsMeanOverTheBatch) {
  // mean(sigma) = (0 + 3 + 3) / 3 = 2: 1 / (1 + 1.5^2)
  const Batch& found = share(1, 1);
  EXPECT_EQ(found.at(0, 0), 1);
  for (const int s : {1, 2}) EXPECT_FLOAT_EQ(found.at(0, s), 1 / 3.25f);
}

TEST_F(Discounting, DoesNotDependOnTheUnitOfRewards) {
  const Batch in_one = share(1, 1), in_another = share(1, 1000);
  for (int s = 0; s < kBatch; ++s) EXPECT_FLOAT_EQ(in_one.at(0, s), in_another.at(0, s));
}

TEST_F(Discounting, ToleranceScalesTheNoise) {
  EXPECT_FLOAT_EQ(share(1.5f, 1).at(0, 1), 0.5f);
  EXPECT_GT(share(1e4f, 1).at(0, 1), 0.999f);
}

TEST_F(Discounting, QuantilesCountByTheirWeights) {
  Batch weights(2, kBatch);
  for (int s = 0; s < kBatch; ++s) {
    weights.at(0, s) = s == 1 ? 2.0f : 1.0f;  // in sample 1 the other one does not count at all
    weights.at(1, s) = s == 1 ? 0.0f : 1.0f;
  }
  // sigma = 0, 0, 3 and their mean 1
  const Batch& found = share(1, 1, &weights);
  EXPECT_EQ(found.at(0, 1), 1);
  EXPECT_FLOAT_EQ(found.at(0, 2), 0.1f);
}

// In one of two states the reward is decided by a coin. Once the critics have learnt that, a bonus
// there is worth a fifth of one in the other state.
TEST(NoiseDiscount, ANoisyPlaceStopsBeingInteresting) {
  SKIP_UNDER_SANITIZER("trains for a minute");
  AgentOptions options = options_for(find_algorithm("novd"));
  options.learner.observation_size = 1;
  options.learner.action_size = 1;
  options.learner.network.hidden = {32};
  options.learner.network.init = Initialisation::torch;
  options.learner.critic.quantiles = 8;
  options.learner.train.batch = 64;
  options.learner.train.adam.learning_rate = 3e-3f;
  options.learner.train.polyak = 0.05f;
  options.learner.train.replay = 400;
  const auto agent = make_agent(options);
  Random random(3, Stream::user);
  for (int i = 0; i < 400; ++i) {
    const std::vector<double> place = {i % 2 == 0 ? -1.0 : 1.0}, action = {random.uniform(-1, 1)};
    const double reward = i % 2 == 0 ? (i % 4 == 0 ? 10 : -10) : 0;
    agent->remember(place, action, reward, place, true, true);
  }
  Team team(1);
  for (int i = 0; i < 1500; ++i) agent->update(team);

  const auto aleatoric = [&](double place) {
    const std::vector<double> observation = {place}, action = {0.1};
    return uncertainty(*agent->quantiles(observation, action)).aleatoric;
  };
  const double noisy = aleatoric(-1), quiet = aleatoric(1), usual = (noisy + quiet) / 2;
  EXPECT_LT(noise_discount(noisy, usual, 1), 0.25);
  EXPECT_GT(noise_discount(quiet, usual, 1), 0.9);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
