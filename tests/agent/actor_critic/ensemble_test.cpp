// Critics beyond two: what they leave alone, what they learn, and what acting sees of them.
#include "agent/actor_critic/ensemble.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "agent/actor_critic/agent.h"
#include "agent/agent_fixture.h"

namespace ovde {
namespace {

AgentOptions ensemble_options(int critics) {
  AgentOptions options = small_agent("ovde_g");
  options.learner.critics = critics;
  options.learner.prior = 5;
  return options;
}

std::vector<float> array_of(Agent& agent, const std::string& name) {
  for (const auto& [each, values] : agent.state().arrays) {
    if (each == name) return {values.begin(), values.end()};
  }
  ADD_FAILURE() << "no array " << name;
  return {};
}

TEST(Ensemble, LeavesTheTwoCriticsAndThePolicyAlone) {
  const auto two = agent_with_rows(ensemble_options(2)),
             five = agent_with_rows(ensemble_options(5));
  Team team(2);
  for (int i = 0; i < 20; ++i) {
    const UpdateReport a = two->update(team), b = five->update(team);
    EXPECT_EQ(a.critic_loss, b.critic_loss);
    EXPECT_EQ(a.actor_loss, b.actor_loss);
  }
  for (const auto& [name, values] : two->state().arrays)
    EXPECT_TRUE(std::ranges::equal(values, array_of(*five, name))) << name;
}

TEST(Ensemble, EachLearnsAroundAPriorThatStays) {
  const auto agent = agent_with_rows(ensemble_options(5));
  std::vector<std::vector<float>> before, prior;
  for (const char* name : {"critic_3", "critic_4", "critic_5"}) {
    before.push_back(array_of(*agent, std::string(name) + ".parameters"));
    prior.push_back(array_of(*agent, std::string(name) + ".target"));
  }
  EXPECT_NE(before[0], before[1]);
  EXPECT_NE(prior[0], prior[1]);
  EXPECT_NE(before[0], prior[0]);
  Team team(3);
  for (int i = 0; i < 5; ++i) agent->update(team);
  for (int j = 0; j < 3; ++j) {
    const std::string name = "critic_" + std::to_string(3 + j);
    EXPECT_NE(array_of(*agent, name + ".parameters"), before[j]);
    EXPECT_EQ(array_of(*agent, name + ".target"), prior[j]);
  }
}

TEST(Ensemble, TheNumberOfThreadsChangesNothing) {
  const auto one = agent_with_rows(ensemble_options(6)),
             many = agent_with_rows(ensemble_options(6));
  Team alone(1), four(4);
  for (int i = 0; i < 5; ++i) {
    one->update(alone);
    many->update(four);
  }
  for (const auto& [name, values] : one->state().arrays)
    EXPECT_TRUE(std::ranges::equal(values, array_of(*many, name))) << name;
}

// A critic's network learns what the targets leave of its prior: on one batch, again and again, all
// of them come to the same values.
TEST(Ensemble, CriticsComeToAgreeOnWhatTheyLearn) {
  LearnerOptions options = ensemble_options(6).learner;
  options.batch = 16;
  options.adam.learning_rate = 3e-3f;
  Ensemble ensemble(options);
  EnsemblePair pair(options, ensemble);
  const int inputs = options.observation_size + options.action_size;
  Batch state_action(inputs, 16), targets(options.quantiles, 16), weight(1, 16);
  Random random(5, Stream::user);
  for (int s = 0; s < 16; ++s) {
    weight.at(0, s) = 1.0f / 16;
    for (int f = 0; f < inputs; ++f) state_action.at(f, s) = static_cast<float>(random.normal());
    for (int i = 0; i < options.quantiles; ++i)
      targets.at(i, s) = static_cast<float>(s) + 0.1f * static_cast<float>(i);
  }
  // the two are as they start, so what is looked at is the spread of the four
  const auto spread = [&] {
    double most = 0;
    for (int s = 0; s < 16; ++s) {
      std::vector<double> means;
      for (int j = 0; j < 4; ++j) {
        QuantileCriticPair own(quantile_critic_shape(options), options.observation_size);
        own.load(ensemble.network(j), ensemble.prior(j));
        std::vector<float> x;
        for (int f = 0; f < inputs; ++f) x.push_back(state_action.at(f, s));
        const std::span<const float> all(x);
        const QuantilePair& z = own.quantiles(all.first(options.observation_size),
                                              all.subspan(options.observation_size), random);
        double mean = 0;
        for (int i = 0; i < options.quantiles; ++i)
          mean += (z.critic[0][i] + 5 * std::sqrt(options.quantiles) * z.critic[1][i]) /
                  options.quantiles;
        means.push_back(mean);
      }
      most = std::max(most, *std::ranges::max_element(means) - *std::ranges::min_element(means));
    }
    return most;
  };
  const double before = spread();
  for (std::uint64_t update = 0; update < 3000; ++update) {
    for (int j = 0; j < 4; ++j) ensemble.learn(j, state_action, targets, weight, update);
  }
  EXPECT_GT(before, 1);
  EXPECT_LT(spread(), 0.25 * before);
}

class EnsemblePairTest : public testing::TestWithParam<int> {};

// Against one critic at a time, and central differences.
TEST_P(EnsemblePairTest, IsTheMeanLessAndPlusTheDeviation) {
  const AgentOptions options = ensemble_options(GetParam());
  const auto agent = agent_with_rows(options);
  Team team(1);
  for (int i = 0; i < 3; ++i) agent->update(team);
  const Learner& learner = dynamic_cast<ActorCriticAgent&>(*agent).learner();
  const int n = options.learner.quantiles, actions = options.learner.action_size;
  EnsemblePair pair(options.learner, learner.ensemble());
  pair.load(learner.critic(0), learner.critic(1));
  Random random(3, Stream::user);
  std::vector<float> observation, action;
  for (int i = 0; i < options.learner.observation_size; ++i)
    observation.push_back(static_cast<float>(random.normal()));
  for (int d = 0; d < actions; ++d) action.push_back(static_cast<float>(random.uniform(-0.8, 0.8)));

  std::vector<std::vector<double>> z;
  const double scale = options.learner.prior / std::sqrt(n);
  for (int k = 0; k < GetParam(); ++k) {
    QuantileCriticPair own(quantile_critic_shape(options.learner),
                           options.learner.observation_size);
    own.load(k < 2 ? learner.critic(k) : learner.ensemble().network(k - 2),
             k < 2 ? learner.critic(k) : learner.ensemble().prior(k - 2));
    const QuantilePair& q = own.quantiles(observation, action, random);
    double prior = 0;
    for (const double p : q.critic[1]) prior += k < 2 ? 0 : scale * p;
    z.push_back(q.critic[0]);
    for (double& x : z.back()) x += prior;
  }
  const QuantilePair found = pair.quantiles(observation, action, random);
  for (int i = 0; i < n; ++i) {
    double mean = 0, variance = 0;
    for (const auto& own : z) mean += own[i] / GetParam();
    for (const auto& own : z) variance += std::pow(own[i] - mean, 2) / GetParam();
    EXPECT_NEAR(found.critic[0][i], mean - std::sqrt(variance), 1e-6 * (1 + std::abs(mean)));
    EXPECT_NEAR(found.critic[1][i], mean + std::sqrt(variance), 1e-6 * (1 + std::abs(mean)));
  }

  QuantilePair by(n);
  for (int k = 0; k < 2; ++k) {
    for (double& x : by.critic[k]) x = random.normal();
  }
  const auto value = [&] {
    const QuantilePair& q = pair.quantiles(observation, action, random);
    double sum = 0;
    for (int k = 0; k < 2; ++k) {
      for (int i = 0; i < n; ++i) sum += by.critic[k][i] * q.critic[k][i];
    }
    return sum;
  };
  std::vector<double> gradient(actions);
  value();
  pair.action_gradient(by, gradient);
  for (int d = 0; d < actions; ++d) {
    const float at = action[d];
    constexpr float kStep = 1e-3f;
    action[d] = at + kStep;
    const double above = value();
    action[d] = at - kStep;
    const double below = value();
    action[d] = at;
    EXPECT_NEAR(gradient[d], (above - below) / (2 * kStep), 0.02 * (1 + std::abs(gradient[d])));
  }
}

INSTANTIATE_TEST_SUITE_P(Counts, EnsemblePairTest, testing::Values(3, 4, 7, 10),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace ovde
