// The agent over a grid of actions against plain re-derivations in double precision: a whole update
// and its gradient, and how it acts and explores.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <ovde/error.h>
#include "agent/actor_critic/reference_learner.h"
#include "agent/agent_fixture.h"
#include "agent/discrete/agent.h"
#include "agent/discrete/reference_ids.h"
#include "sanitizer.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using reference::Table;
using reference::Vec;

LearnerOptions small_options(int batch, int observations, int actions, int quantiles) {
  LearnerOptions options;
  options.observation_size = observations;
  options.action_size = actions;
  options.network.hidden = {16, 16};
  options.critic.quantiles = quantiles;
  options.train.batch = batch;
  options.seed = 42;
  options.train.adam.learning_rate = 1e-2f;  // as in learner_test.cpp
  options.train.adam.epsilon = 1e-3f;
  options.train.polyak = 0.05f;
  return options;
}

// One update in double precision, a sample at a time.
struct DiscreteReference {
  using Net = reference::Net;
  struct Sample {
    Vec observation, next_observation;
    int action;
    double reward, terminal;
  };

  DiscreteReference(DiscreteLearner& learner, const LearnerOptions& o, const ActionGrid& g)
      : options(o), grid(g), shape(learner.critic_shape()), updates(learner.updates()) {
    for (const auto& [name, values] : learner.state().arrays)
      array(name) = reference::to_double(values);
  }
  Vec& array(const std::string& name) {
    Net& net = critic[name.starts_with("critic_2") ? 1 : 0];
    if (name.ends_with("parameters")) return net.parameters;
    if (name.ends_with("first_moment")) return net.first_moment;
    return name.ends_with("second_moment") ? net.second_moment : net.target;
  }

  std::vector<Sample> draw(const Replay& replay) const {
    const std::uint64_t row = (options.train.batch + 63) / 64 * 64;  // how draws are numbered
    std::vector<Sample> batch;
    for (std::uint64_t s = 0; s < static_cast<std::uint64_t>(options.train.batch); ++s) {
      const auto words =
          Random::block(options.seed, Stream::replay_batch, 0, (updates * row + s) / 4);
      const auto from = replay.row(
          static_cast<std::int64_t>((std::uint64_t{words[s % 4]} * replay.size()) >> 32));
      batch.push_back({{from.observation, from.observation + options.observation_size},
                       {from.next_observation, from.next_observation + options.observation_size},
                       grid.nearest({from.action, std::size_t(options.action_size)}),
                       from.reward,
                       from.end == EpisodeEnd::terminal ? 1.0 : 0.0});
    }
    return batch;
  }

  // [action][quantile]
  std::vector<Vec> values(const Vec& parameters, const Vec& observation) const {
    const Vec out = reference::mlp(shape, parameters, observation);
    std::vector<Vec> table;
    for (auto at = out.begin(); at != out.end(); at += options.critic.quantiles)
      table.emplace_back(at, at + options.critic.quantiles);
    return table;
  }

  int greedy(const Vec& observation) const {
    Vec mean(grid.actions());
    for (const Net& net : critic) {
      const auto z = values(net.parameters, observation);
      for (std::size_t a = 0; a < mean.size(); ++a) mean[a] += reference::mean(z[a]);
    }
    return static_cast<int>(std::ranges::max_element(mean) - mean.begin());
  }

  Vec targets(const Sample& s) const {
    const int next = greedy(s.next_observation);
    const Vec z1 = values(critic[0].target, s.next_observation)[next];
    const Vec z2 = values(critic[1].target, s.next_observation)[next];
    Vec y;
    for (int i = 0; i < options.critic.quantiles; ++i)
      y.push_back(s.reward + options.train.discount * (1 - s.terminal) * std::min(z1[i], z2[i]));
    return y;
  }

  // The loss of a critic with these parameters, averaged over the batch.
  double loss(const Vec& parameters, const std::vector<Sample>& batch,
              const std::vector<Vec>& y) const {
    const int n = options.critic.quantiles;
    double loss = 0;
    for (std::size_t s = 0; s < batch.size(); ++s) {
      const Vec z = values(parameters, batch[s].observation)[batch[s].action];
      for (const double target : y[s]) {
        for (int j = 0; j < n; ++j) {
          const double u = target - z[j], size = std::abs(u);
          loss += std::abs((j + 0.5) / n - (u < 0)) * (size <= 1 ? u * u / 2 : size - 0.5) / n;
        }
      }
    }
    return loss / static_cast<double>(batch.size());
  }

  Vec gradient(const Vec& parameters, const std::vector<Sample>& batch,
               const std::vector<Vec>& y) const {
    const int n = options.critic.quantiles;
    Vec sum(parameters.size());
    for (std::size_t s = 0; s < batch.size(); ++s) {
      const auto layers = reference::mlp_layers(shape, parameters, batch[s].observation);
      Vec delta(shape.outputs());
      for (int j = 0; j < n; ++j) {
        double& slope = delta[batch[s].action * n + j];
        for (const double target : y[s]) {
          const double u = target - layers.back()[batch[s].action * n + j];
          slope -= std::abs((j + 0.5) / n - (u < 0)) * std::clamp(u, -1.0, 1.0) / n /
                   options.train.batch;
        }
      }
      reference::mlp_backward(shape, parameters, layers, delta, sum);
    }
    return sum;
  }

  double update(const Replay& replay) {
    const auto batch = draw(replay);
    std::vector<Vec> y;
    for (const Sample& s : batch) y.push_back(targets(s));
    ++updates;
    double both = 0;
    for (Net& net : critic) {
      both += loss(net.parameters, batch, y);
      net.step(options.train.adam, static_cast<double>(updates), gradient(net.parameters, batch, y),
               options.train.polyak);
    }
    return both / 2;
  }

  LearnerOptions options;
  ActionGrid grid;
  MlpShape shape;
  std::uint64_t updates;
  std::array<Net, 2> critic;
};

// Values of order one, and a target network of its own, for every network.
void spread_out(const LearnerState& state, const MlpShape& shape) {
  std::uint32_t network = 0;
  const auto& last = shape.layer(shape.layers() - 1);
  for (const auto& [name, values] : state.arrays) {
    if (!name.ends_with(".parameters") && !name.ends_with(".target")) continue;
    initialise(shape, 5, network++, 0.5f, values);
    for (std::size_t i = 0; i < last.weights; ++i) values[i] *= 5;
  }
}

struct DiscreteCase {
  int batch, observations, actions, bins, quantiles;
};

class DiscreteUpdate : public testing::TestWithParam<DiscreteCase> {
 protected:
  DiscreteUpdate() {
    spread_out(learner.state(), learner.critic_shape());
    learner.restored();
  }
  DiscreteCase c = GetParam();
  LearnerOptions options = small_options(c.batch, c.observations, c.actions, c.quantiles);
  ActionGrid grid{c.actions, c.bins};
  DiscreteLearner learner{options, grid};
  Replay replay = filled_replay(c.observations, c.actions, 300);
  Team team{2};
};

TEST_P(DiscreteUpdate, FollowsTheReferenceStepByStep) {
  DiscreteReference reference(learner, options, grid);
  for (int update = 1; update <= 5; ++update) {
    const double expected = reference.update(replay);
    const UpdateReport found = learner.update(replay, team);
    EXPECT_NEAR(found.critic_loss, expected, 1e-4 * (1 + expected));
    EXPECT_FALSE(found.actor_loss || found.temperature);
    for (const auto& [name, values] : learner.state().arrays) {
      const Vec& wanted = reference.array(name);
      double largest = 0;
      for (std::size_t i = 0; i < values.size(); ++i)
        largest = std::max(largest, std::abs(values[i] - wanted[i]));
      EXPECT_LT(largest, update == 1 ? 1e-5 : 1e-4) << name;
    }
  }
}

// The gradient that Adam was given, read back from its first moment, against central differences of
// the loss: all biases and a sample of the weights of each layer.
TEST_P(DiscreteUpdate, GradientMatchesCentralDifferences) {
  SKIP_UNDER_SANITIZER("evaluates a plain reference thousands of times");
  const DiscreteReference reference(learner, options, grid);
  const auto batch = reference.draw(replay);
  std::vector<Vec> y;
  for (const auto& s : batch) y.push_back(reference.targets(s));
  std::vector<int> which;
  Random random(8, Stream::user);
  const MlpShape& shape = learner.critic_shape();
  for (int l = 0; l < shape.layers(); ++l) {
    const auto& layer = shape.layer(l);
    for (int o = 0; o < layer.outputs; o += layer.outputs / 16 + 1) {
      which.push_back(static_cast<int>(layer.bias) + o);
      which.push_back(static_cast<int>(layer.weights) + o * layer.stride +
                      static_cast<int>(random.below(layer.inputs)));
    }
  }
  learner.update(replay, team);
  int visible = 0;
  for (const auto& [name, moment] : learner.state().arrays) {
    if (!name.ends_with("first_moment")) continue;
    const Vec& parameters = reference.critic[name.starts_with("critic_2")].parameters;
    const Vec expected = reference::gradient(
        [&](const Vec& p) { return reference.loss(p, batch, y); }, parameters, which);
    for (std::size_t i = 0; i < which.size(); ++i) {
      const double found = moment[which[i]] / (1 - double{options.train.adam.beta1});
      EXPECT_NEAR(found, expected[i], 1e-4 * (1 + std::abs(expected[i])))
          << name << " " << which[i];
      visible += std::abs(expected[i]) > 1e-3;
    }
  }
  EXPECT_GT(visible, static_cast<int>(which.size()) / 4);
}

TEST_P(DiscreteUpdate, ValueReportIsThatOfTheGreedyNextActions) {
  const DiscreteReference before(learner, options, grid);
  learner.update(replay, team);
  ValueReport expected;
  for (const auto& s : before.draw(replay)) {
    const int a = before.greedy(s.next_observation);
    const Vec z1 = before.values(before.critic[0].target, s.next_observation)[a];
    const Vec z2 = before.values(before.critic[1].target, s.next_observation)[a];
    Vec middle, gap;
    for (int i = 0; i < c.quantiles; ++i) {
      middle.push_back((z1[i] + z2[i]) / 2);
      gap.push_back(std::pow((z1[i] - z2[i]) / 2, 2));
    }
    Vec squares;
    for (const double x : middle) squares.push_back(std::pow(x - reference::mean(middle), 2));
    expected.mean += reference::mean(middle) / c.batch;
    expected.epistemic += std::sqrt(reference::mean(gap)) / c.batch;
    expected.aleatoric += std::sqrt(reference::mean(squares)) / c.batch;
  }
  EXPECT_NEAR(learner.value_report().mean, expected.mean, 1e-4);
  EXPECT_NEAR(learner.value_report().epistemic, expected.epistemic, 1e-4);
  EXPECT_NEAR(learner.value_report().aleatoric, expected.aleatoric, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Sizes, DiscreteUpdate,
                         testing::Values(DiscreteCase{48, 5, 2, 3, 5},
                                         DiscreteCase{100, 2, 3, 4, 20},
                                         DiscreteCase{37, 17, 1, 7, 2}),
                         [](const auto& info) {
                           const DiscreteCase& c = info.param;
                           return std::to_string(c.actions) + "Actions" + std::to_string(c.bins) +
                                  "Bins" + std::to_string(c.batch) + "Samples";
                         });

AgentOptions agent_options(double lambda) {
  AgentOptions options = options_for(find_algorithm("ids"));
  options.learner = small_options(48, 5, 2, 5);
  options.learner.train.replay = 1000;
  options.ids = {.bins = 4, .lambda = lambda};
  return options;
}

// The agent acts and explores by its networks as they are after each update.
TEST(DiscreteAgent, ActsGreedilyAndExploresByTheRule) {
  const AgentOptions options = agent_options(0.7);
  DiscreteAgent agent(options);
  const ActionGrid grid(2, 4);
  const MlpShape shape = agent.policy().networks[0].shape;
  spread_out(agent.state(), shape);
  agent.restored();
  const Replay rows = filled_replay(5, 2, 300);
  agent.replay().restore(0, rows.raw(0, rows.size()));
  agent.replay().set_added(rows.added());

  Random random(3, Stream::user);
  Team team(2);
  std::vector<double> observation(5), found(2), expected(2);
  int differ = 0;
  for (int n = 0; n < 100; ++n) {
    if (n % 20 == 0) agent.update(team);
    for (double& x : observation) x = static_cast<float>(random.normal());
    Table z;
    Vec mean(grid.actions());
    for (int k = 0; k < 2; ++k) {
      const Vec parameters = reference::to_double(agent.policy().networks[k].parameters);
      const Vec out = reference::mlp(shape, parameters, observation);
      for (int a = 0; a < grid.actions(); ++a) {
        z[k].emplace_back(out.begin() + a * 5, out.begin() + (a + 1) * 5);
        mean[a] += reference::mean(z[k][a]);
      }
    }
    const auto best = static_cast<int>(std::ranges::max_element(mean) - mean.begin());
    grid.action(best, expected);
    agent.act(observation, found);
    EXPECT_EQ(found, expected);

    const int chosen = reference::plain_choice(z, 0.7);
    grid.action(chosen, expected);
    const Decision decision = agent.explore(observation, false, found);
    EXPECT_EQ(found, expected);
    EXPECT_TRUE(std::isnan(decision.m) && std::isnan(decision.shift));
    differ += chosen != best;
  }
  EXPECT_GT(differ, 10);
}

TEST(DiscreteAgent, WarmsUpWithEveryActionEquallyOften) {
  DiscreteAgent agent(agent_options(0.1));
  const ActionGrid grid(2, 4);
  std::map<int, int> counts;
  const std::vector<double> observation(5);
  std::vector<double> action(2);
  constexpr int kDraws = 16000;
  for (int n = 0; n < kDraws; ++n) {
    agent.explore(observation, true, action);
    ++counts[grid.nearest(std::vector<float>(action.begin(), action.end()))];
  }
  double chi_square = 0;
  for (int a = 0; a < 16; ++a) chi_square += std::pow(counts[a] - kDraws / 16.0, 2) * 16 / kDraws;
  EXPECT_LT(chi_square, 37.7);  // 99.9 % of 15 degrees of freedom
}

// Two states, four actions, one of which ends the episode with a reward that depends on the state:
// after some hundred updates on random transitions the values are the known ones.
TEST(DiscreteAgent, LearnsTheValuesOfATinyProblem) {
  AgentOptions options = agent_options(0.1);
  options.learner.observation_size = 1;
  options.learner.action_size = 1;
  options.learner.train.discount = 0.5f;
  DiscreteAgent agent(options);
  const ActionGrid grid(1, 4);
  Random random(6, Stream::user);
  std::vector<double> action(1);
  // in state s = -1 or 1: action number 2 ends it with 1 + s, any other leads to the other state
  for (int n = 0; n < 1000; ++n) {
    const double s = n % 2 == 0 ? -1 : 1;
    const auto a = static_cast<int>(random.below(4));
    grid.action(a, action);
    agent.remember(std::vector{s}, action, a == 2 ? 1 + s : 0, std::vector{-s}, a == 2, a == 2);
  }
  Team team(1);
  for (int n = 0; n < 1500; ++n) agent.update(team);

  // Q(1, 2) = 2, so Q(-1, other) = 1 and Q(1, other) = 0.5; Q(-1, 2) = 0
  const MlpShape shape = agent.policy().networks[0].shape;
  for (const double s : {-1.0, 1.0}) {
    Vec q(4);
    for (const auto& network : agent.policy().networks) {
      const Vec out = reference::mlp(shape, reference::to_double(network.parameters), {s});
      for (int a = 0; a < 4; ++a)
        q[a] += reference::mean({out.begin() + a * 5, out.begin() + a * 5 + 5}) / 2;
    }
    for (int a = 0; a < 4; ++a)
      EXPECT_NEAR(q[a], a == 2 ? 1 + s : (s < 0 ? 1 : 0.5), 0.1) << s << " " << a;
  }
}

TEST(DiscreteAgent, AnAlgorithmWithoutARuleIsRefused) {
  AgentOptions options = agent_options(0.1);
  for (const char* name : {"dsac", "oac", "ovde_g"}) {
    options.algorithm.explorer = find_algorithm(name).explorer;
    EXPECT_THROW(DiscreteAgent{options}, Error) << name;
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
