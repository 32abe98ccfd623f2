// The second actor of DAC: the policy and the critics do not depend on it; how far it moves from
// the policy, and when it acts.
#include "agent/actor_critic/optimist.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "agent/actor_critic/agent.h"
#include "agent/agent_fixture.h"

namespace ovde {
namespace OVDE_TEST_FILE {

std::vector<float> array(Agent& agent, const std::string& name) {
  for (const auto& [key, values] : agent.state().arrays) {
    if (key == name) return {values.begin(), values.end()};
  }
  ADD_FAILURE() << name;
  return {};
}

void update(Agent& agent, int times) {
  Team team(1);
  for (int i = 0; i < times; ++i) agent.update(team);
}

// Mean KL(optimist || policy) over some observations, for each dimension of the action.
double divergence(Agent& agent) {
  const double spread = agent.options().learner.dac.spread;
  Random random(7, Stream::user);
  double sum = 0;
  constexpr int kCount = 200;
  for (int i = 0; i < kCount; ++i) {
    std::vector<double> observation(3);
    for (double& x : observation) x = random.normal();
    const auto policy = propose(agent, observation, true);
    const std::vector<double> policy_std(policy.std.begin(), policy.std.end());
    const auto optimist = propose(agent, observation, false);
    for (int d = 0; d < 2; ++d) {
      const double std = optimist.std[d] / spread, p = policy_std[d],
                   apart = optimist.moved[d] - optimist.mean[d];
      sum += std::log(p / std) + (std * std + apart * apart) / (2 * p * p) - 0.5;
    }
  }
  return sum / (2 * kCount);
}

TEST(Optimist, LeavesPolicyAndCriticsAlone) {
  for (const CriticHead head : {CriticHead::qr, CriticHead::iqn}) {
    AgentOptions dac = small_agent("dac"), dsac = small_agent("dsac");
    dac.learner.critic.head = dsac.learner.critic.head = head;
    const auto with = agent_with_rows(dac), without = agent_with_rows(dsac);
    Team team(2);
    for (int i = 0; i < 20; ++i) {
      const UpdateReport a = with->update(team), b = without->update(team);
      EXPECT_EQ(a.critic_loss, b.critic_loss);
      EXPECT_EQ(a.actor_loss, b.actor_loss);
    }
    EXPECT_EQ(with->value_report().mean, without->value_report().mean);
    EXPECT_EQ(with->value_report().epistemic, without->value_report().epistemic);
    const LearnerState expected = without->state(), found = with->state();
    for (std::size_t i = 0; i < expected.arrays.size(); ++i) {
      EXPECT_EQ(found.arrays[i].first, expected.arrays[i].first);
      EXPECT_TRUE(std::ranges::equal(found.arrays[i].second, expected.arrays[i].second));
    }
    EXPECT_TRUE(std::ranges::equal(with->policy().networks[0].parameters,
                                   without->policy().networks[0].parameters));
    EXPECT_EQ(with->policy().networks.size(), 1u);
  }
}

TEST(Optimist, StartsAsThePolicyAndActsMoreWidely) {
  const auto with = make_agent(small_agent("dac")), without = make_agent(small_agent("dsac"));
  const Proposal found = propose(*with, kObservation, false);
  const Proposal expected = propose(*without, kObservation, false);
  EXPECT_TRUE(std::ranges::equal(found.mean, expected.mean));
  EXPECT_TRUE(std::ranges::equal(found.moved, expected.mean));
  for (int d = 0; d < 2; ++d) EXPECT_DOUBLE_EQ(found.std[d], 1.25 * expected.std[d]);
}

TEST(Optimist, ActsWhereverItExploresAndNowhereElse) {
  const auto with = agent_with_rows(small_agent("dac")),
             without = agent_with_rows(small_agent("dsac"));
  update(*with, 30);
  update(*without, 30);
  const Proposal found = propose(*with, kObservation, false);
  EXPECT_FALSE(std::ranges::equal(found.moved, found.mean));
  EXPECT_TRUE(std::ranges::equal(found.mean, propose(*without, kObservation, false).mean));
  std::vector<double> a(2), b(2);
  EXPECT_GT(with->explore(kObservation, false, a).shift, 0);

  // the warm-up and the evaluation are the policy's
  const Proposal plain = propose(*with, kObservation, true);
  EXPECT_TRUE(std::ranges::equal(plain.moved, plain.mean));
  EXPECT_TRUE(std::ranges::equal(plain.std, propose(*without, kObservation, true).std));
  with->act(kObservation, a);
  without->act(kObservation, b);
  EXPECT_EQ(a, b);
}

TEST(Optimist, AHeavyDivergenceKeepsItAtThePolicy) {
  AgentOptions light = small_agent("dac"), heavy = light;
  for (AgentOptions* options : {&light, &heavy}) options->learner.train.adam.learning_rate = 3e-3f;
  light.learner.dac.weight = 1e-6f;
  heavy.learner.dac.weight = 20;
  const auto free = agent_with_rows(light), held = agent_with_rows(heavy);
  update(*free, 300);
  update(*held, 300);
  EXPECT_LT(divergence(*held), 0.02);
  EXPECT_GT(divergence(*free), 10 * divergence(*held));
}

// Without a weight on the divergence it seeks disagreement of the critics if it is optimistic, and
// avoids it if not.
TEST(Optimist, ClimbsWhereTheCriticsDisagree) {
  const auto disagreement = [](float optimism) {
    AgentOptions options = small_agent("dac");
    options.learner.dac.weight = 1e-6f;
    options.learner.dac.optimism = optimism;
    options.learner.train.adam.learning_rate = 3e-3f;
    const auto agent = agent_with_rows(options);
    spread_parameters(dynamic_cast<ActorCriticAgent&>(*agent).learner(), 5);
    update(*agent, 100);
    Random random(8, Stream::user);
    double sum = 0;
    for (int i = 0; i < 200; ++i) {
      std::vector<double> observation(3), action(2);
      for (double& x : observation) x = random.normal();
      const Proposal proposal = propose(*agent, observation, false);
      for (int d = 0; d < 2; ++d) action[d] = std::tanh(proposal.moved[d]);
      const QuantilePair& z = *agent->quantiles(observation, action);
      double difference = 0;
      for (int q = 0; q < 5; ++q) difference += (z.critic[0][q] - z.critic[1][q]) / 5;
      sum += std::abs(difference);
    }
    return sum;
  };
  EXPECT_GT(disagreement(30), 1.2 * disagreement(-0.9f));
}

// Above the target divergence its weight grows and its optimism falls, below it the other way
// round.
TEST(Optimist, ItsMultipliersHoldTheDivergence) {
  for (const float aim : {0.0f, 1e3f}) {
    AgentOptions options = small_agent("dac");
    options.learner.dac.divergence = aim;
    options.learner.dac.optimism = 0.5f;
    options.learner.dac.weight = 0.01f;
    const auto agent = agent_with_rows(options);
    update(*agent, 50);
    const float optimism = array(*agent, "optimist.log_optimism")[0] - std::log(1.5f);
    const float weight = array(*agent, "optimist.log_weight")[0] - std::log(0.01f);
    EXPECT_TRUE(aim == 0 ? optimism < 0 : optimism > 0) << optimism;
    EXPECT_TRUE(aim == 0 ? weight > 0 : weight < 0) << weight;
    // Adam's steps of 3e-5 each, in full where the gradient stays the same
    if (aim > 0) {
      EXPECT_NEAR(optimism, 50 * 3e-5, 1e-4);
    }
  }
}

TEST(Optimist, StartsAgainFromThePolicy) {
  AgentOptions options = small_agent("dac");
  options.learner.dac.copy_updates = 7;
  const auto agent = agent_with_rows(options);
  update(*agent, 6);
  EXPECT_NE(array(*agent, "optimist.parameters"), array(*agent, "actor.parameters"));
  update(*agent, 1);
  EXPECT_EQ(array(*agent, "optimist.parameters"), array(*agent, "actor.parameters"));
  EXPECT_EQ(array(*agent, "optimist.log_optimism"),
            (std::vector<float>{std::log(options.learner.dac.optimism + 1), 0, 0}));
  EXPECT_NEAR(divergence(*agent), 0, 1e-12);

  // steps are as long as the first ones again: Adam counts anew
  update(*agent, 1);
  const auto before = array(*agent, "actor.parameters"),
             after = array(*agent, "optimist.parameters");
  double longest = 0;
  for (std::size_t i = 0; i < after.size(); ++i)
    longest = std::max<double>(longest, std::abs(after[i] - before[i]));
  EXPECT_GT(longest, 0);
  EXPECT_LT(longest, 2.1 * options.learner.train.adam.learning_rate);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
