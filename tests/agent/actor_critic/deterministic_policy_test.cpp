// How an agent with a deterministic policy (TD3) acts: its noise comes after the squash, and its
// first actions from everywhere.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <ovde/error.h>
#include "agent/actor_critic/agent.h"
#include "agent/agent_fixture.h"
#include "agent/explore/explorer.h"

namespace ovde {
namespace OVDE_TEST_FILE {

const std::vector<double> kTd3Observation = {0.3, -1, 0.5, 2, -0.2};

AgentOptions td3_options(const std::string& name, double noise, double correlation = 0) {
  AgentOptions options = options_for(find_algorithm(name));
  options.learner.observation_size = 5;
  options.learner.action_size = 3;
  options.learner.network.hidden = {16, 16};
  options.learner.critic.quantiles = 5;
  options.learner.seed = 4;
  options.learner.train.replay = 100;
  options.learner.td3.noise = noise;
  options.learner.td3.correlation = correlation;
  return options;
}

struct Moments {
  double mean = 0, variance = 0, low = 1, high = -1;
};

// Moments of the first dimension over many actions.
template <typename Act>
Moments moments_of(Act act) {
  constexpr int kCount = 20000;
  Moments m;
  double squares = 0;
  std::vector<double> action(3);
  for (int i = 0; i < kCount; ++i) {
    act(action);
    m.mean += action[0] / kCount;
    squares += action[0] * action[0] / kCount;
    m.low = std::min(m.low, action[0]);
    m.high = std::max(m.high, action[0]);
  }
  m.variance = squares - m.mean * m.mean;
  return m;
}

// Sets the mean of the first action before the squash, whatever the observation.
void set_mean(ActorCriticAgent& agent, float mean) {
  const MlpShape shape = agent.learner().actor_shape();
  const auto& last = shape.layer(shape.layers() - 1);
  for (auto& [name, values] : agent.state().arrays) {
    if (name != "actor.parameters") continue;
    std::ranges::fill(values.subspan(last.weights), 0.0f);
    values[last.bias] = mean;
  }
  agent.restored();
}

TEST(DeterministicPolicy, ExploresByNoiseAfterTheSquash) {
  ActorCriticAgent agent(td3_options("td3", 0.1));
  set_mean(agent, 0.5f);
  const auto m = moments_of([&](auto& action) { agent.explore(kTd3Observation, false, action); });
  EXPECT_NEAR(m.mean, std::tanh(0.5), 0.004);
  EXPECT_NEAR(std::sqrt(m.variance), 0.1, 0.002);
}

// The correlation falls by the same factor with every lag, and the size of the noise is constant.
TEST(DeterministicPolicy, NoiseMayRememberTheStepBefore) {
  constexpr int kCount = 100000, kLags = 4;
  ActorCriticAgent agent(td3_options("td3", 0.1, 0.8));
  set_mean(agent, 0);
  std::vector<double> noise, action(3);
  for (int i = 0; i < kCount; ++i) {
    agent.explore(kTd3Observation, false, action);
    noise.push_back(action[0]);
  }
  for (int lag = 0; lag < kLags; ++lag) {
    double covariance = 0;
    for (int i = lag; i < kCount; ++i) covariance += noise[i] * noise[i - lag] / kCount;
    EXPECT_NEAR(covariance, 0.01 * std::pow(0.8, lag), 0.0005) << lag;
  }
}

TEST(DeterministicPolicy, ClipsTheNoisyAction) {
  ActorCriticAgent agent(td3_options("td3", 0.1));
  set_mean(agent, 2.0f);  // tanh(2) = 0.964
  const auto m = moments_of([&](auto& action) { agent.explore(kTd3Observation, false, action); });
  EXPECT_EQ(m.high, 1);
  // E[min(X, 1)] for X ~ N(tanh 2, 0.1)
  const double t = (1 - std::tanh(2.0)) / 0.1, phi = std::exp(-t * t / 2) / std::sqrt(2 * M_PI);
  const double above = 0.5 * std::erfc(t / std::sqrt(2.0));
  EXPECT_NEAR(m.mean, std::tanh(2.0) - 0.1 * (phi - t * above), 0.003);
}

TEST(DeterministicPolicy, WarmsUpWithActionsFromEverywhere) {
  ActorCriticAgent agent(td3_options("ovde_td3", 0.1));
  const auto m = moments_of([&](auto& action) { agent.explore(kTd3Observation, true, action); });
  EXPECT_NEAR(m.mean, 0, 0.02);
  EXPECT_NEAR(m.variance, 1.0 / 3, 0.01);
  EXPECT_LT(m.low, -0.99);
  EXPECT_GT(m.high, 0.99);
}

TEST(DeterministicPolicy, WithoutNoiseExploresAsItActs) {
  ActorCriticAgent agent(td3_options("td3", 0));
  std::vector<double> explored(3), acted(3);
  agent.explore(kTd3Observation, false, explored);
  agent.act(kTd3Observation, acted);
  EXPECT_EQ(explored, acted);
}

// Explorers see a policy without a standard deviation: the agent adds the noise.
TEST(DeterministicPolicy, HasNoStandardDeviationBeforeTheSquash) {
  ActorCriticAgent agent(td3_options("td3", 0.1));
  PolicyPass pass(agent.learner().actor_shape(), 3);
  pass.load(agent.learner().actor());
  ActorHead head(3);
  head.std = {1, 2, 3};
  std::ranges::copy(kTd3Observation, pass.input().begin());
  pass.head(head);
  EXPECT_EQ(head.std, std::vector<double>(3, 0.0));
}

TEST(GreedyPolicy, HasNoActor) {
  AgentOptions options = td3_options("td3", 0.1);
  options.learner.policy = PolicyKind::greedy;
  EXPECT_THROW(make_actor(options.learner), Error);
}

// OVD-Explorer moves the mean before the squash, exactly as it does for the Gaussian policy.
TEST(DeterministicPolicy, IsMovedByOvdExplorerBeforeTheSquash) {
  const AgentOptions options = td3_options("ovde_td3", 0);
  ActorCriticAgent agent(options);
  spread_parameters(agent.learner(), 7);
  const auto pair = make_critic_pair(options.learner);
  pair->load(agent.learner().critic(0), agent.learner().critic(1));
  std::vector<double> acted(3), moved(3), explored(3);
  agent.act(kTd3Observation, acted);
  ActorHead head(3);
  for (int d = 0; d < 3; ++d) head.mean[d] = moved[d] = std::atanh(acted[d]);
  Random random;
  const OvdRule rule = ovd_rule("ovde_g", options.explore);
  const auto explorer = make_rule_explorer(rule, 3, 5);
  const double m =
      explorer->shift(std::vector<float>(kTd3Observation.begin(), kTd3Observation.end()), head,
                      *pair, random, moved);

  const Decision decision = agent.explore(kTd3Observation, false, explored);
  EXPECT_NEAR(decision.m, m, 1e-6);
  EXPECT_NEAR(decision.shift, rule.alpha * m, 1e-6);
  for (int d = 0; d < 3; ++d) {
    EXPECT_NEAR(explored[d], std::tanh(moved[d]), 1e-6);
    EXPECT_NE(explored[d], acted[d]);
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
