// Who acts in the next episode, on numbers worked out by hand and in an agent.
#include "agent/actor_critic/scout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "agent/agent_fixture.h"

namespace ovde {
namespace OVDE_TEST_FILE {

void play_returns(Turns& turns, bool scout, std::vector<double> returns) {
  for (const double r : returns) {
    turns.add(r);
    turns.end_episode(scout);
  }
}

TEST(Turns, ShareIsKeptWithoutEvidence) {
  Turns turns({.share = 0.4, .minimum_share = 0.2});
  EXPECT_EQ(turns.probability(), 0.4);
  play_returns(turns, false, {10, 12, 14});
  play_returns(turns, true, {1});  // one return has no error
  EXPECT_EQ(turns.probability(), 0.4);

  Turns none({.share = 0.4, .minimum_share = 0.2});  // no reward has been found
  play_returns(none, false, {0, 0, 0});
  play_returns(none, true, {0, 0});
  EXPECT_EQ(none.probability(), 0.4);

  Turns alike({.share = 0.4, .minimum_share = 0.2});  // whose mean may not be 0.7 to the last bit
  play_returns(alike, false, std::vector<double>(17, 0.7));
  play_returns(alike, true, std::vector<double>(19, 0.7));
  EXPECT_EQ(alike.probability(), 0.4);
}

TEST(Turns, ProbabilityGrowsWithTheEvidenceForTheScout) {
  Turns turns({.share = 0.5, .minimum_share = 0.2});
  play_returns(turns, false, {1, 3});  // mean 2, squared error 2 / 2
  play_returns(turns, true, {3, 5});   // mean 4, the same
  const double f = std::erf(2 / std::sqrt(2.0) / std::sqrt(2.0));
  EXPECT_NEAR(turns.probability(), 0.5 * (0.2 + 0.8 * f), 1e-12);
  // 2 and 4 from three each: squared errors of 1 / 3
  play_returns(turns, false, {2});
  play_returns(turns, true, {4});
  const double surer = std::erf(2 / std::sqrt(2.0 / 3) / std::sqrt(2.0));
  EXPECT_GT(surer, f);
  EXPECT_NEAR(turns.probability(), 0.5 * (0.2 + 0.8 * surer), 1e-12);

  Turns equal({.share = 0.5, .minimum_share = 0.2});  // on average, and there are rewards
  play_returns(equal, false, {1, 3});
  play_returns(equal, true, {3, 1});
  EXPECT_DOUBLE_EQ(equal.probability(), 0.1);

  Turns sure({.share = 0.5, .minimum_share = 0.2});
  play_returns(sure, false, {100, 100});
  play_returns(sure, true, {0, 0});
  EXPECT_DOUBLE_EQ(sure.probability(), 0.1);
  play_returns(sure, false, std::vector<double>(20, -100.0));
  EXPECT_DOUBLE_EQ(sure.probability(), 0.5);
}

// Once all remembered returns are equal again the scout has its whole share.
TEST(Turns, OldReturnsAreForgotten) {
  Turns turns({.share = 0.5, .minimum_share = 0});
  play_returns(turns, true, {0, 100});
  play_returns(turns, false, {0, 0});
  EXPECT_NEAR(turns.probability(), 0.5 * std::erf(std::sqrt(0.5)), 1e-12);
  play_returns(turns, true, std::vector<double>(19, 0.0));
  EXPECT_LT(turns.probability(), 0.5);
  play_returns(turns, true, {0});
  EXPECT_EQ(turns.probability(), 0.5);
}

TEST(Turns, AbandonedEpisodesDoNotCount) {
  Turns turns({.share = 0.5, .minimum_share = 0}), other({.share = 0.5, .minimum_share = 0});
  turns.add(1000);
  turns.give_up_episode();
  for (Turns* t : {&turns, &other}) {
    play_returns(*t, true, {2, 3});
    play_returns(*t, false, {1, 2});
  }
  EXPECT_EQ(turns.probability(), other.probability());
}

// The scout's episodes return 0, the agent's 1.
TEST(Turns, AScoutThatReturnsLessActsLess) {
  AgentOptions options = small_agent("scout");
  options.scout.share = 0.5;
  options.scout.minimum_share = 0.1;
  const auto agent = make_agent(options);
  const std::vector<double> observation(options.learner.observation_size, 0.1),
      action(options.learner.action_size, 0.0);
  int scouted = 0;
  constexpr int kEpisodes = 1000;
  for (int episode = -20; episode < kEpisodes; ++episode) {
    if (episode >= 0) scouted += agent->host_side().scout_acts();
    agent->remember(observation, action, agent->host_side().scout_acts() ? 0 : 1, observation,
                    false, true);
  }
  EXPECT_NEAR(scouted, 0.05 * kEpisodes, 4 * std::sqrt(0.05 * 0.95 * kEpisodes));

  // another agent continues from its saved state
  const auto saved = agent->state();
  const auto other = make_agent(options);
  const auto state = other->state();
  for (std::size_t i = 0; i < state.statistics.size(); ++i)
    std::ranges::copy(saved.statistics[i].second, state.statistics[i].second.begin());
  other->restored();
  other->behaviour_noise() = agent->behaviour_noise();
  for (int episode = 0; episode < 100; ++episode) {
    EXPECT_EQ(other->host_side().scout_acts(), agent->host_side().scout_acts());
    for (Agent* one : {agent.get(), other.get()})
      one->remember(observation, action, one->host_side().scout_acts() ? 0 : 1, observation, false,
                    true);
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
