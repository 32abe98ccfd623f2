// A NaN in a hidden weight must reach a number that training checks: no ReLU, minimum or clamp on
// the way may swallow it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <ovde/error.h>
#include "agent/agent.h"
#include "agent/agent_fixture.h"

namespace ovde {
namespace OVDE_TEST_FILE {

constexpr float kSpoilt = std::numeric_limits<float>::quiet_NaN();
const std::vector<double> kFiniteObservation = {0.3, -1, 0.5, 2, -0.2};

struct Spoilt {
  std::string algorithm;
  CriticHead head = CriticHead::qr;
  bool norm = is_implicit(head);
};

// An agent with something to learn from and a NaN among the numbers of this name: a weight of the
// first layer.
std::unique_ptr<Agent> agent_with_nan(const Spoilt& c, const std::string& place) {
  auto agent = agent_with_rows(odd_agent(c.algorithm, c.head, c.norm, 100));
  bool found = false;
  for (auto& [name, values] : agent->state().arrays) {
    if (name != place) continue;
    values[0] = kSpoilt;
    found = true;
  }
  EXPECT_TRUE(found) << place;
  agent->restored();
  return agent;
}

bool all_nan(const std::vector<double>& action) {
  return std::ranges::all_of(action, [](double a) { return std::isnan(a); });
}

class NotFiniteTest : public testing::TestWithParam<Spoilt> {};

TEST_P(NotFiniteTest, TheNextUpdateReportsIt) {
  const Algorithm& algorithm = find_algorithm(GetParam().algorithm);
  std::vector<std::string> places = {"critic_1.parameters", "critic_2.parameters",
                                     "critic_1.target", "critic_2.target"};
  if (algorithm.policy != PolicyKind::greedy) places.emplace_back("actor.parameters");
  // SAC draws its targets' actions from the policy itself
  if (algorithm.policy != PolicyKind::greedy && algorithm.distributional)
    places.emplace_back("actor.target");
  for (const std::string& place : places) {
    Team team(2);
    const UpdateReport report = agent_with_nan(GetParam(), place)->update(team);
    EXPECT_FALSE(std::isfinite(report.critic_loss) &&
                 std::isfinite(report.actor_loss.value_or(0)) &&
                 std::isfinite(report.temperature.value_or(0)))
        << place;
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, NotFiniteTest,
                         testing::Values(Spoilt{"sac"}, Spoilt{"dsac"}, Spoilt{"td3"},
                                         Spoilt{"ids"}, Spoilt{"dsac", CriticHead::iqn},
                                         Spoilt{"td3", CriticHead::iqn},
                                         Spoilt{"dsac", CriticHead::qr, true},
                                         Spoilt{"dsac", CriticHead::categorical},
                                         Spoilt{"tqc", CriticHead::categorical}),
                         [](const auto& info) {
                           const Spoilt& c = info.param;
                           return with_head(c.algorithm, c.head, c.norm);
                         });

TEST(NotFinite, AnActorsShowsInItsActions) {
  for (const char* name : {"sac", "dsac", "td3"}) {
    const auto agent = agent_with_nan({name}, "actor.parameters");
    std::vector<double> action(3);
    agent->act(kFiniteObservation, action);
    EXPECT_TRUE(all_nan(action)) << name;
    agent->explore(kFiniteObservation, false, action);
    EXPECT_TRUE(all_nan(action)) << name;
  }
}

TEST(NotFinite, AnOptimistsShowsInItsActions) {
  const auto agent = agent_with_nan({"dac"}, "optimist.parameters");
  std::vector<double> action(3);
  agent->explore(kFiniteObservation, false, action);
  EXPECT_TRUE(all_nan(action));
}

TEST(NotFinite, AGreedyPolicysShowsInItsActions) {
  for (const char* place : {"critic_1.parameters", "critic_2.parameters"}) {
    std::vector<double> action(3);
    agent_with_nan({"ids"}, place)->act(kFiniteObservation, action);
    EXPECT_TRUE(all_nan(action)) << place;
  }
}

TEST(NotFinite, ACriticsStopsABehaviourThatAsksIt) {
  for (const Spoilt& c : {Spoilt{"oac"}, Spoilt{"ovde_q"}, Spoilt{"ovde_g", CriticHead::iqn},
                          Spoilt{"ovde_q", CriticHead::categorical}, Spoilt{"ids"}}) {
    for (const char* place : {"critic_1.parameters", "critic_2.parameters"}) {
      const auto agent = agent_with_nan(c, place);
      std::vector<double> action(3);
      EXPECT_THROW(agent->explore(kFiniteObservation, false, action), Error)
          << c.algorithm << place;
    }
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
