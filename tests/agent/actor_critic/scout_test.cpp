// The second learner of an agent: the agent's own learner does not depend on it; when it acts.
#include "agent/actor_critic/scout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent_fixture.h"

namespace ovde {
namespace OVDE_TEST_FILE {

AgentOptions scout_options(const std::string& algorithm, double share = 0.5) {
  AgentOptions options = small_agent(algorithm);
  if (options.scout.share > 0) {
    options.scout.share = share;
    options.scout.hidden = {16};
  }
  return options;
}

TEST(Scout, LeavesTheAgentsOwnLearnerAlone) {
  const auto scouted = agent_with_rows(scout_options("scout"));
  const auto alone = agent_with_rows(scout_options("dsac"));
  Team team(2);
  for (int i = 0; i < 20; ++i) {
    const UpdateReport a = scouted->update(team), b = alone->update(team);
    EXPECT_EQ(a.critic_loss, b.critic_loss);
  }
  const LearnerState expected = alone->state(), found = scouted->state();
  for (std::size_t i = 0; i < expected.arrays.size(); ++i) {
    EXPECT_EQ(found.arrays[i].first, expected.arrays[i].first);
    EXPECT_TRUE(std::ranges::equal(found.arrays[i].second, expected.arrays[i].second));
  }
  EXPECT_TRUE(std::ranges::equal(scouted->policy().networks[0].parameters,
                                 alone->policy().networks[0].parameters));
}

// An agent that is nothing but such a learner learns the same.
TEST(Scout, LearnsAsAnAgentOfItsOwnWould) {
  const AgentOptions options = scout_options("scout");
  const auto scouted = agent_with_rows(options);
  Learner own(scout_learner(options));
  EXPECT_EQ(own.options().network.hidden, options.scout.hidden);
  EXPECT_NE(own.options().seed, options.learner.seed);  // the two draw different batches
  ASSERT_TRUE(own.options().rnd.bonus == Bonus::discounted);
  Team team(1);
  for (int i = 0; i < 20; ++i) {
    scouted->update(team);
    own.update(scouted->replay(), team);
  }
  int compared = 0;
  for (const auto& [name, values] : scouted->state().arrays) {
    for (const auto& [own_name, own_values] : own.state().arrays) {
      if (name != kScout + own_name) continue;
      EXPECT_TRUE(std::ranges::equal(values, own_values)) << name;
      ++compared;
    }
  }
  EXPECT_EQ(compared, static_cast<int>(own.state().arrays.size()));
}

TEST(Scout, ResidualNetworksHaveTheSizesOfTheAgents) {
  AgentOptions options = scout_options("scout");
  make_residual(options.learner.network);
  EXPECT_EQ(scout_learner(options).network.kind, NetworkKind::mlp);
  options.scout.kind = NetworkKind::residual;
  EXPECT_EQ(scout_learner(options).network.kind, NetworkKind::residual);
  EXPECT_EQ(scout_learner(options).network.width, options.learner.network.width);
}

// An agent with the scout's learner proposes the same, for both forms of the standard deviation.
TEST(Scout, ActsByThePolicyThatItLearns) {
  for (const LogStdForm form : {LogStdForm::clamped, LogStdForm::squashed}) {
    AgentOptions options = scout_options("scout"), own = scout_options("dsac");
    make_residual(options.learner.network);
    options.learner.network.log_std = form;
    options.scout.kind = NetworkKind::residual;
    own.learner = scout_learner(options);
    const auto scouted = make_agent(options), alone = make_agent(own);
    scouted->host_side().let_scout_act(true);
    const Proposal a = propose(*scouted, kObservation, false),
                   b = propose(*alone, kObservation, false);
    EXPECT_TRUE(std::ranges::equal(a.mean, b.mean)) << name(form);
    EXPECT_TRUE(std::ranges::equal(a.std, b.std)) << name(form);
  }
}

// Both policies differ from the start, so that the proposal shows which of the two acts.
TEST(Scout, ActsInWholeEpisodes) {
  const auto agent = make_agent(scout_options("scout"));
  const auto alone = make_agent(scout_options("dsac"));
  std::vector<double> action(2);
  int scouted = 0;
  constexpr int kEpisodes = 400, kSteps = 3;
  for (int episode = 0; episode < kEpisodes; ++episode) {
    int by_the_scout = 0;
    for (int step = 0; step < kSteps; ++step) {
      const Proposal proposal = propose(*agent, kObservation, false);
      const bool own = std::ranges::equal(proposal.mean, propose(*alone, kObservation, false).mean);
      EXPECT_EQ(own, !agent->host_side().scout_acts());
      by_the_scout += !own;
      agent->host_side().decide(proposal, false, action);
      agent->remember(kObservation, action, 0, kObservation, false, step + 1 == kSteps);
    }
    EXPECT_TRUE(by_the_scout == 0 || by_the_scout == kSteps);
    scouted += by_the_scout > 0;
  }
  EXPECT_NEAR(scouted, kEpisodes / 2, 4 * std::sqrt(kEpisodes / 4.0));
}

TEST(Scout, DoesNotActInTheWarmUpNorWhenEvaluated) {
  const auto agent = make_agent(scout_options("scout", 1)),
             alone = make_agent(scout_options("dsac"));
  agent->give_up_episode();  // the next one is the scout's
  ASSERT_TRUE(agent->host_side().scout_acts());
  EXPECT_TRUE(std::ranges::equal(propose(*agent, kObservation, true).mean,
                                 propose(*alone, kObservation, true).mean));
  std::vector<double> a(2), b(2);
  agent->act(kObservation, a);
  alone->act(kObservation, b);
  EXPECT_EQ(a, b);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
