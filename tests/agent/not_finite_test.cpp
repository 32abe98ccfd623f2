// A NaN in a hidden weight must reach a number that training checks: no ReLU, minimum or clamp on
// the way may swallow it.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <ovde/error.h>
#include "agent/agent.h"
#include "agent/agent_fixture.h"

namespace ovde {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
const std::vector<double> kObservation = {0.3, -1, 0.5, 2, -0.2};

struct Case {
  std::string algorithm;
  CriticHead head = CriticHead::qr;
};

AgentOptions options_of(const Case& c) {
  AgentOptions options;
  options.algorithm = find_algorithm(c.algorithm);
  options.learner.observation_size = 5;
  options.learner.action_size = 3;
  options.learner.hidden = {40, 24};
  options.learner.quantiles = options.algorithm.distributional ? 5 : 1;
  options.learner.distributional = options.algorithm.distributional;
  options.learner.policy = options.algorithm.policy;
  options.learner.head = c.head;
  options.learner.batch = 100;
  options.learner.seed = 1;
  options.replay = 500;
  return options;
}

class NotFiniteTest : public testing::TestWithParam<Case> {
 protected:
  // An agent with something to learn from and a NaN among the numbers of this name: a weight of
  // the first layer. Null: the agent has no such numbers.
  std::unique_ptr<Agent> agent_with_nan(const std::string& place) {
    auto agent = make_agent(options_of(GetParam()));
    const Replay rows = filled_replay(5, 3, 500);
    agent->replay().restore(0, rows.raw(0, rows.size()));
    agent->replay().set_added(rows.added());
    bool found = false;
    for (auto& [name, values] : agent->state().arrays) {
      if (name != place) continue;
      values[0] = kNaN;
      found = true;
    }
    agent->restored();
    return found ? std::move(agent) : nullptr;
  }
};

TEST_P(NotFiniteTest, TheNextUpdateReportsIt) {
  for (const char* place : {"actor.parameters", "actor.target", "critic_1.parameters",
                            "critic_2.parameters", "critic_1.target", "critic_2.target"}) {
    const auto agent = agent_with_nan(place);
    if (!agent) continue;
    if (std::string(place) == "actor.target" && !agent->options().learner.distributional)
      continue;  // SAC draws its targets' actions from the policy itself
    Team team(2);
    const UpdateReport report = agent->update(team);
    EXPECT_FALSE(std::isfinite(report.critic_loss) &&
                 std::isfinite(report.actor_loss.value_or(0)) &&
                 std::isfinite(report.temperature.value_or(0)))
        << place;
  }
}

TEST_P(NotFiniteTest, ActingShowsAnActorsInItsActions) {
  const auto agent = agent_with_nan("actor.parameters");
  if (!agent) GTEST_SKIP() << "no actor";
  std::vector<double> action(3);
  agent->act(kObservation, action);
  for (const double a : action) EXPECT_TRUE(std::isnan(a));
  if (agent->options().algorithm.behaviour == Behaviour::policy) {
    agent->explore(kObservation, false, action);
    for (const double a : action) EXPECT_TRUE(std::isnan(a));
  }
}

TEST_P(NotFiniteTest, ABehaviourThatAsksTheCriticsIsStoppedByTheirs) {
  for (const char* place : {"critic_1.parameters", "critic_2.parameters"}) {
    const auto agent = agent_with_nan(place);
    if (agent->options().algorithm.behaviour == Behaviour::policy)
      GTEST_SKIP() << "does not ask the critics";
    std::vector<double> action(3);
    EXPECT_THROW(agent->explore(kObservation, false, action), Error) << place;
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, NotFiniteTest,
                         testing::Values(Case{"sac"}, Case{"dsac"}, Case{"oac"}, Case{"ovde_q"},
                                         Case{"td3"}, Case{"ids"}, Case{"dsac", CriticHead::iqn},
                                         Case{"ovde_g", CriticHead::iqn}));

}  // namespace
}  // namespace ovde
