// The bandit over episodes, on numbers worked out by hand and in an agent.
#include "agent/bandit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "agent/agent.h"
#include "agent/agent_fixture.h"

namespace ovde {
namespace OVDE_TEST_FILE {

TEST(Bandit, AGainSpeaksForTheArmOfItsEpisode) {
  Bandit bandit({.arms = {-1, 0}, .rate = 0.1});
  Random random(1, Stream::user);
  EXPECT_EQ(bandit.probabilities(), (std::vector<double>{0.5, 0.5}));

  // the first episode has no gain, and a single gain has no deviation
  bandit.add(3);
  bandit.end_episode(random);
  bandit.add(2);
  bandit.add(3);
  bandit.end_episode(random);
  EXPECT_EQ(bandit.probabilities(), (std::vector<double>{0.5, 0.5}));

  // gains of 2 and 6 have a deviation of 2: 0.1 * 6 / (2 * 0.5)
  const bool first = bandit.arm() == -1;
  bandit.add(11);
  bandit.end_episode(random);
  const double p = 1 / (1 + std::exp(-0.6));
  EXPECT_NEAR(bandit.probabilities()[first ? 0 : 1], p, 1e-12);
  EXPECT_NEAR(bandit.probabilities()[first ? 1 : 0], 1 - p, 1e-12);
}

TEST(Bandit, PrefersTheArmWhoseEpisodesReturnMore) {
  Bandit bandit({.arms = {-1, 0}, .rate = 0.1});
  Random random(2, Stream::user), noise(3, Stream::user);
  int better = 0;
  for (int episode = 0; episode < 400; ++episode) {
    if (episode >= 200) better += bandit.arm() == 0;
    bandit.add((bandit.arm() == 0 ? 2 : 0) + 0.5 * noise.normal());
    bandit.end_episode(random);
  }
  EXPECT_GT(better, 150);
}

TEST(Bandit, AnEpisodeThatIsGivenUpCountsForNothing) {
  Bandit bandit({.arms = {-1, 0}}), other({.arms = {-1, 0}});
  Random random(1, Stream::user), same(1, Stream::user);
  for (const double r : {1.0, 4.0, 2.0, 7.0}) {
    bandit.add(100);
    bandit.give_up_episode();
    bandit.add(r);
    bandit.end_episode(random);
    other.add(r);
    other.end_episode(same);
  }
  EXPECT_EQ(bandit.probabilities(), other.probabilities());
  EXPECT_EQ(bandit.arm(), other.arm());
}

AgentOptions top_options(const std::string& algorithm) {
  AgentOptions options = small_agent(algorithm);
  options.learner.network.hidden = {16};
  return options;
}

// With a single arm there is nothing to choose: it is DSAC with that optimism.
TEST(Top, LearnsWithTheOptimismThatItsBanditChose) {
  for (const float optimism : {-1.0f, 0.5f}) {
    AgentOptions top = top_options("top"), dsac = top_options("dsac");
    top.top.arms = {optimism};
    dsac.learner.critic.optimism = optimism;
    const auto one = agent_with_rows(top), other = agent_with_rows(dsac);
    Team team(1);
    for (Agent* agent : {one.get(), other.get()}) {
      for (int i = 0; i < 10; ++i) agent->update(team);
    }
    const LearnerState a = one->state(), b = other->state();
    for (std::size_t i = 0; i < b.arrays.size(); ++i)
      EXPECT_TRUE(std::ranges::equal(a.arrays[i].second, b.arrays[i].second)) << a.arrays[i].first;
  }
}

TEST(Top, ChoosesAnewWithEveryEpisode) {
  const auto agent = make_agent(top_options("top"));
  const std::vector<double> observation = {0.3, -1, 0.5}, action = {0.1, 0.2};
  int seen[2] = {};
  for (int episode = 0; episode < 100; ++episode) {
    const auto before = agent->host_side().chosen_optimism();
    agent->remember(observation, action, 1, observation, false, false);
    EXPECT_EQ(agent->host_side().chosen_optimism(), before);
    agent->remember(observation, action, 1, observation, false, true);
    ++seen[agent->host_side().chosen_optimism() == 0 ? 1 : 0];
  }
  EXPECT_GT(seen[0], 10);
  EXPECT_GT(seen[1], 10);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
