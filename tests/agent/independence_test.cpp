// What must hold to the last bit: results do not depend on the number of threads, on other agents
// in the process, or on where a run was cut and continued.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/agent_fixture.h"
#include "sanitizer.h"

namespace ovde {
namespace OVDE_TEST_FILE {

struct Independent {
  std::string algorithm;
  int batch;
  CriticHead head = CriticHead::qr;
  bool norm = is_implicit(head);
  bool published = false;  // every key as the published code has it
  NetworkKind kind = NetworkKind::mlp;
};

Independent residual(const std::string& algorithm, int batch, bool published = false) {
  return {algorithm, batch, CriticHead::qr, false, published, NetworkKind::residual};
}

AgentOptions independent_options(const Independent& c, std::uint64_t seed) {
  AgentOptions options = odd_agent(c.algorithm, c.head, c.norm, c.batch);
  options.learner.rnd_network = {{24}, 5};
  options.scout.hidden = {24, 16};
  if (is_implicit(c.head)) options.learner.network.init = Initialisation::torch;
  options.learner.network.kind = c.kind;
  if (c.kind == NetworkKind::residual) make_residual(options.learner.network);
  if (c.kind == NetworkKind::residual && c.head == CriticHead::categorical)
    options.scout.kind = NetworkKind::residual;
  if (c.published) {
    options.learner.network.targets = TargetStart::own;
    options.learner.critic.weights = QuantileWeights::equal;
    options.learner.critic.minimum = Minimum::quantiles;
    options.learner.critic.uncertainty = {EpistemicForm::means, VarianceForm::unbiased};
  }
  options.learner.seed = seed;
  return options;
}

// All that an update reads and changes.
std::vector<float> snapshot(Agent& agent) {
  std::vector<float> all;
  for (const auto& [name, values] : agent.state().arrays)
    all.insert(all.end(), values.begin(), values.end());
  return all;
}

void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

// Under a sanitizer an update is ten times as slow. Six reach every line, also where the actor is
// updated every second or third time.
const int kUpdates = kSanitizer.empty() ? 20 : 6;

class IndependenceTest : public testing::TestWithParam<Independent> {
 protected:
  AgentOptions options = independent_options(GetParam(), 1);

  std::vector<float> after(int updates, int threads) {
    const auto agent = agent_with_rows(options);
    Team team(threads);
    for (int i = 0; i < updates; ++i) agent->update(team);
    return snapshot(*agent);
  }
};

TEST_P(IndependenceTest, ThreadsDoNotChangeABit) {
  const auto one = after(kUpdates, 1);
  for (const int threads : {2, 3, 5}) expect_same_bits(one, after(kUpdates, threads));
}

TEST_P(IndependenceTest, AgentsTrainedInTurnsLearnWhatEachLearnsAlone) {
  AgentOptions other = options;
  other.learner.seed = 2;
  const auto first = agent_with_rows(options), second = agent_with_rows(other, 9);
  Team team(2);
  for (int i = 0; i < kUpdates; ++i) {
    first->update(team);
    second->update(team);
  }
  expect_same_bits(after(kUpdates, 1), snapshot(*first));

  const auto alone = agent_with_rows(other, 9);
  for (int i = 0; i < kUpdates; ++i) alone->update(team);
  expect_same_bits(snapshot(*alone), snapshot(*second));
}

TEST_P(IndependenceTest, AgentsSideBySideLearnWhatEachLearnsAlone) {
  std::vector<std::unique_ptr<Agent>> agents;
  for (int i = 0; i < 4; ++i) agents.push_back(agent_with_rows(options));
  Team team(2), alone(1);
  for (int i = 0; i < kUpdates; ++i) team.run(4, [&](int agent) { agents[agent]->update(alone); });
  const auto expected = after(kUpdates, 1);
  for (const auto& agent : agents) expect_same_bits(expected, snapshot(*agent));
}

TEST_P(IndependenceTest, RestoredStateContinuesToTheSameBits) {
  const auto first = agent_with_rows(options), second = agent_with_rows(options);
  Team team(1);
  for (int i = 0; i < kUpdates / 2; ++i) first->update(team);
  copy_state(*first, *second);
  for (int i = 0; i < kUpdates / 2; ++i) second->update(team);
  expect_same_bits(after(kUpdates, 1), snapshot(*second));
}

// Lanes beyond the batch hold whatever was drawn for them; the rest of the replay buffer must not
// leak through them.
TEST_P(IndependenceTest, UnusedLanesStayOut) {
  const auto agent = agent_with_rows(options);
  Team team(1);
  for (int i = 0; i < 3; ++i) {
    const UpdateReport report = agent->update(team);
    EXPECT_TRUE(std::isfinite(report.critic_loss) && std::isfinite(report.actor_loss.value_or(0)));
  }
  for (const float x : snapshot(*agent)) ASSERT_TRUE(std::isfinite(x));
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, IndependenceTest,
    testing::Values(
        Independent{"dsac", 64}, Independent{"dsac", 100}, Independent{"dsac", 1},
        Independent{"sac", 100}, Independent{"td3", 100}, Independent{"td3", 1},
        Independent{"dsac_rnd", 100}, Independent{"dsac_rnd", 1}, Independent{"novd", 100},
        Independent{"novd", 1}, Independent{"novd", 100, CriticHead::iqn}, Independent{"tqc", 100},
        Independent{"tqc", 1}, Independent{"top", 64}, Independent{"dac", 100},
        Independent{"dac", 1}, Independent{"dac", 64, CriticHead::iqn},
        Independent{"dac", 37, CriticHead::qr, true, true}, Independent{"scout", 100},
        Independent{"scout", 1}, Independent{"scout", 64, CriticHead::iqn},
        Independent{"dsac", 100, CriticHead::iqn}, Independent{"td3", 20, CriticHead::iqn},
        Independent{"dsac", 100, CriticHead::embedded},
        Independent{"dsac", 100, CriticHead::categorical},
        Independent{"tqc", 37, CriticHead::categorical, true},
        Independent{"scout", 64, CriticHead::categorical},
        Independent{"dsac", 100, CriticHead::qr, true},
        Independent{"sac", 37, CriticHead::qr, true}, Independent{"ids", 64},
        Independent{"ids", 100}, Independent{"ids", 1},
        Independent{"dsac", 100, CriticHead::qr, false, true},
        Independent{"dsac", 1, CriticHead::qr, true, true},
        Independent{"dsac", 100, CriticHead::iqn, true, true},
        Independent{"td3", 20, CriticHead::iqn, true, true},
        Independent{"dsac", 37, CriticHead::embedded, true, true},
        Independent{"ids", 64, CriticHead::qr, false, true}, residual("dsac", 100),
        residual("dsac", 1), residual("sac", 37), residual("td3", 64), residual("dac", 100),
        residual("tqc", 64), residual("scout", 37), residual("dsac", 37, true),
        Independent{"dsac", 37, CriticHead::categorical, false, false, NetworkKind::residual},
        Independent{"scout", 37, CriticHead::categorical, false, false, NetworkKind::residual},
        Independent{"flashsac", 37, CriticHead::categorical, false, false, NetworkKind::residual}),
    [](const auto& info) {
      const Independent& c = info.param;
      return with_head(c.algorithm, c.head, c.norm) +
             (c.kind == NetworkKind::residual ? "_residual" : "") +
             (c.published ? "_published_" : "_") + std::to_string(c.batch);
    });

void expect_same_actions_with_a_team(const Algorithm& algorithm, CriticHead head,
                                     bool published = false, NetworkKind kind = NetworkKind::mlp) {
  const AgentOptions options =
      independent_options({algorithm.name, 32, head, is_implicit(head), published, kind}, 3);
  const auto alone = make_agent(options), helped = make_agent(options);
  Team team(2);
  helped->use(&team);
  const std::vector<double> observation = {0.3, -1, 0.5, 2, -0.2};
  std::vector<double> a(3), b(3);
  for (int i = 0; i < 200; ++i) {
    const Decision x = alone->explore(observation, false, a);
    const Decision y = helped->explore(observation, false, b);
    EXPECT_EQ(a, b) << algorithm.name;
    EXPECT_TRUE(x.shift == y.shift || (std::isnan(x.shift) && std::isnan(y.shift)));
  }
}

TEST(Agent, ActsTheSameWithAndWithoutATeam) {
  for (const Algorithm& algorithm : algorithms()) {
    expect_same_actions_with_a_team(algorithm, CriticHead::qr);
    if (algorithm.policy != PolicyKind::greedy)
      expect_same_actions_with_a_team(algorithm, CriticHead::qr, false, NetworkKind::residual);
    if (!algorithm.distributional) continue;
    expect_same_actions_with_a_team(algorithm, CriticHead::iqn);
    if (algorithm.policy != PolicyKind::greedy)
      expect_same_actions_with_a_team(algorithm, CriticHead::embedded);
    expect_same_actions_with_a_team(algorithm, CriticHead::categorical);
    expect_same_actions_with_a_team(algorithm, CriticHead::iqn, true);
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
