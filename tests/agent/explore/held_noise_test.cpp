// Noise that is held for several steps.
#include "agent/explore/held_noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "agent/agent_fixture.h"

namespace ovde {
namespace OVDE_TEST_FILE {

TEST(HeldNoise, LengthsFollowTheZetaDistribution) {
  constexpr int kLongest = 16, kDraws = 100'000;
  Random random(1, Stream::user);
  std::vector<int> count(kLongest + 1);
  for (int i = 0; i < kDraws; ++i) {
    const int n = held_steps(kLongest, random);
    ASSERT_GE(n, 1);
    ASSERT_LE(n, kLongest);
    ++count[n];
  }
  double sum = 0;
  for (int n = 1; n <= kLongest; ++n) sum += std::pow(n, -2);
  for (int n = 1; n <= kLongest; ++n) {
    const double p = std::pow(n, -2) / sum;
    EXPECT_NEAR(count[n], kDraws * p, 4 * std::sqrt(kDraws * p * (1 - p))) << n;
  }
}

TEST(HeldNoise, IsConstantForTheDrawnNumberOfSteps) {
  Random random(2, Stream::user), expected(2, Stream::user);
  HeldNoise noise(2, 16);
  bool held = false;
  for (int piece = 0; piece < 50; ++piece) {
    const double first = expected.normal(), second = expected.normal();
    const int steps = held_steps(16, expected);
    held |= steps > 1;
    for (int i = 0; i < steps; ++i) {
      const auto now = noise.next(random);
      EXPECT_EQ(now[0], first);
      EXPECT_EQ(now[1], second);
    }
  }
  EXPECT_TRUE(held);
}

TEST(HeldNoise, ANewEpisodeDrawsItsOwn) {
  Random random(3, Stream::user);
  HeldNoise noise(1, 1000);
  noise.state().back() = 5;
  EXPECT_EQ(noise.next(random)[0], 0);
  noise.end_episode();
  EXPECT_NE(noise.next(random)[0], 0);
}

// The policy's mean stays the same here: an action differs from the one before it by the noise.
TEST(HeldNoise, AnAgentHoldsItUntilTheEpisodeEnds) {
  AgentOptions options = small_agent("dsac");
  options.behaviour.hold = 1000;
  const auto agent = make_agent(options);
  std::vector<double> before(2), action(2);
  agent->explore(kObservation, false, before);
  for (auto& [name, values] : agent->state().statistics) {
    if (name == "behaviour.held") values.back() = 2;
  }
  for (const bool last : {false, true}) {
    agent->explore(kObservation, false, action);
    EXPECT_EQ(action, before);
    agent->remember(kObservation, action, 0, kObservation, false, last);
  }
  agent->explore(kObservation, false, action);
  EXPECT_NE(action, before);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
