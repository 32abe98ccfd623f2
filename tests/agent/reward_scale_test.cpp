// Rewards scaled by running returns.
#include "agent/reward_scale.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "agent/agent_fixture.h"

namespace ovde {
namespace OVDE_TEST_FILE {

// The factor by its definition, from all returns so far.
double factor_of(const std::vector<double>& returns) {
  double mean = 0, variance = 0, largest = 0;
  for (const double g : returns) mean += g / static_cast<double>(returns.size());
  for (const double g : returns) {
    variance += std::pow(g - mean, 2) / static_cast<double>(returns.size());
    largest = std::max(largest, std::abs(g));
  }
  return 1 / std::max(std::sqrt(variance + 1e-8), largest / 5);
}

TEST(RewardScale, FollowsTheReturnsOfAllEpisodes) {
  for (const double spread : {0.1, 3.0}) {  // the largest return decides, or the deviation does
    AgentOptions options = small_agent("scout");
    options.learner.train.scale_rewards = true;
    options.learner.train.discount = 0.9f;
    const auto agent = make_agent(options);
    EXPECT_EQ(agent->host_side().reward_scale(), 1);
    Random random(1, Stream::user);
    const std::vector<double> action(2);
    std::vector<double> returns;
    double sum = 0;
    for (int step = 0; step < 100; ++step) {
      const double reward = (step < 50 ? 2 : -3) + spread * random.normal();
      const bool last = step % 30 == 29;
      agent->remember(kObservation, action, reward, kObservation, false, last);
      sum = double{0.9f} * sum + reward;
      returns.push_back(sum);
      if (last) sum = 0;
      EXPECT_NEAR(agent->host_side().reward_scale() / factor_of(returns), 1, 1e-6);
    }
  }
}

TEST(RewardScale, EnvironmentsHaveReturnsOfTheirOwn) {
  RewardScale scale(0.5, 2);
  scale.add(4, 0);
  scale.add(-2, 1);                                            // the largest return is still 4
  scale.add(8, 0);                                             // 10
  EXPECT_DOUBLE_EQ(scale.factor(), 1 / std::sqrt(24 + 1e-8));  // returns 4, -2 and 10
  scale.end_episode(0);
  scale.add(4, 0);
  scale.add(31, 1);                                                // 30
  EXPECT_DOUBLE_EQ(scale.factor(), 1 / std::sqrt(122.56 + 1e-8));  // returns 4, -2, 10, 4 and 30
}

TEST(RewardScale, OneReturnDecidesBySizeAlone) {
  RewardScale scale(0.9);
  scale.add(-10);
  EXPECT_DOUBLE_EQ(scale.factor(), 0.5);
}

// A factor that is a power of two: the products are exact, and so are all other numbers.
TEST(RewardScale, UpdatesSeeScaledRewards) {
  for (const char* algorithm : {"dsac", "scout"}) {
    AgentOptions options = small_agent(algorithm);
    options.learner.train.n_step = 3;
    const auto scaled = make_agent(options), plain = make_agent(options);
    fill_replay(*scaled);
    const Replay& rows = scaled->replay();
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      const auto row = rows.row(i);
      plain->replay().add({row.observation, 3}, {row.action, 2}, 0.25f * row.reward,
                          {row.next_observation, 3}, row.end);
    }
    scaled->host_side().set_reward_scale(0.25f);
    Team team(1);
    for (int i = 0; i < 3; ++i) {
      scaled->update(team);
      plain->update(team);
    }
    const LearnerState a = scaled->state(), b = plain->state();
    for (std::size_t i = 0; i < a.arrays.size(); ++i)
      EXPECT_TRUE(std::ranges::equal(a.arrays[i].second, b.arrays[i].second)) << a.arrays[i].first;
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
