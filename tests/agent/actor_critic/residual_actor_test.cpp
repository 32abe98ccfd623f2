// The actor on a residual network: which statistics each of its passes uses.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "agent/actor_critic/actor.h"
#include "agent/actor_critic/learner.h"
#include "agent/agent_fixture.h"
#include "agent/algorithm.h"
#include "nn/residual_reference.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using reference::Samples;
using reference::to_double;
using reference::Vec;

class ResidualActorTest : public testing::TestWithParam<std::string> {
 protected:
  static constexpr int kBatch = 21;

  static LearnerOptions residual_options() {
    LearnerOptions options = odd_agent(GetParam(), CriticHead::qr, false, kBatch).learner;
    make_residual(options.network);
    options.train.polyak = 0.3f;
    return options;
  }
  ResidualActorTest() {
    draw();
    // away from the first parameters
    for (int i = 0; i < 3; ++i, ++update) {
      actor->act(batch, update, team);
      for (int half = 0; half < 2; ++half) actor->differentiate(gradient, batch.weight, half);
      actor->step(batch, update, team);
    }
  }
  void draw() {
    batch.draw(replay, 0, all_blocks(batch.weight), [](int, const float*) {});
    for (int s = 0; s < kBatch; ++s) gradient.at(0, s) = static_cast<float>(s - 10);
  }
  static Samples samples_of(const Batch& observation) {
    Samples all;
    for (int s = 0; s < kBatch; ++s) {
      Vec x;
      for (int f = 0; f < observation.features(); ++f) x.push_back(observation.at(f, s));
      all.push_back(x);
    }
    return all;
  }
  // Expects a = tanh(mean + std * noise).
  void expect_actions(const Batch& action, const Vec* heads, Stream stream) const {
    const int actions = options.action_size;
    Batch noise(actions, kBatch);
    fill_batch_noise(options.seed, stream, update, noise, all_blocks(noise));
    for (int s = 0; s < kBatch; ++s) {
      for (int d = 0; d < actions; ++d) {
        const double log_std = std::clamp(heads[s][actions + d], -20.0, 2.0);
        EXPECT_NEAR(action.at(d, s), std::tanh(heads[s][d] + std::exp(log_std) * noise.at(d, s)),
                    5e-5);
      }
    }
  }

  LearnerOptions options = residual_options();
  ResidualShape shape{options.observation_size, options.network.actor_width, options.network.blocks,
                      options.network.expansion, 2 * options.action_size};
  Replay replay = filled_replay(options.observation_size, options.action_size, 200);
  ReplayBatch batch{options};
  Batch gradient{options.action_size, kBatch};
  Team team{2};
  std::unique_ptr<Actor> actor = make_actor(options);
  std::uint64_t update = 0;
};

TEST_P(ResidualActorTest, LearnsWithTheStatisticsOfBothBatches) {
  actor->act(batch, update, team);
  Samples both = samples_of(batch.observation);
  for (const Vec& x : samples_of(batch.next_observation)) both.push_back(x);
  const Vec parameters = to_double(actor->network().trained().parameters);
  const Samples heads = reference::residual(shape, parameters, both);
  expect_actions(actor->actions().action, heads.data(), Stream::actor_noise);
}

TEST_P(ResidualActorTest, TargetActionsUseTheRunningStatistics) {
  actor->act(batch, update, team);
  const Trained& net = actor->network().trained();
  const Vec statistics = to_double(net.statistics);
  const Vec parameters = to_double(options.distributional ? net.target : net.parameters);
  const Samples heads =
      reference::residual(shape, parameters, samples_of(batch.next_observation), &statistics);
  expect_actions(actor->next_actions().action, heads.data(), Stream::target_noise);
}

TEST_P(ResidualActorTest, StatisticsMoveWithTheStepAlone) {
  const Buffer before = actor->network().trained().statistics;
  actor->act(batch, update, team);
  EXPECT_EQ(actor->network().trained().statistics, before);
  for (int half = 0; half < 2; ++half) actor->differentiate(gradient, batch.weight, half);
  actor->step(batch, update, team);
  EXPECT_NE(actor->network().trained().statistics, before);
}

// FlashSAC starts with a median standard deviation of exp(-4) and warms up with uniform actions.
TEST(FlashSac, StartsWithLittleNoiseAndUniformActions) {
  AgentOptions options = odd_agent("flashsac", CriticHead::categorical, false, 21);
  options.learner.network.width = options.learner.network.actor_width = 32;
  std::vector<double> log_std;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    options.learner.seed = seed;
    const auto agent = make_agent(options);
    for (const double std : propose(*agent, {0.3, -1, 0.5, 2, -0.2}, false).std)
      log_std.push_back(std::log(std));
  }
  std::ranges::sort(log_std);
  EXPECT_NEAR(log_std[log_std.size() / 2], -4, 1);
  EXPECT_GE(log_std.front(), -10);
  EXPECT_LE(log_std.back(), 2);

  const auto agent = make_agent(options);
  Random expected = agent->behaviour_noise();
  std::vector<double> action(3);
  for (int n = 0; n < 5; ++n) {
    agent->explore(std::vector<double>{0.3, -1, 0.5, 2, -0.2}, true, action);
    for (const double a : action) EXPECT_EQ(a, expected.uniform(-1, 1));
  }
}

// Losses of eight updates as the authors' public code computes them from the same networks, batches
// and noise, with its steps in our order.
TEST(FlashSac, UpdatesAgreeWithTheAuthorsCode) {
  LearnerOptions options = options_for(find_algorithm("flashsac")).learner;
  options.observation_size = 5;
  options.action_size = 3;
  options.seed = 7;
  options.network.width = 32;
  options.network.actor_width = 16;
  options.train.batch = 40;
  options.train.polyak = 0.3f;
  options.train.adam = {.learning_rate = 1e-2f,
                        .epsilon = 1e-3f,  // steps stay a smooth function of small gradients
                        .learning_rate_end = 5e-3f,
                        .decay_updates = 20};
  Learner learner(options);
  learner.set_reward_scale(0.37f);
  const Replay replay = filled_replay(5, 3, 300);
  Team team(1);
  const double critic_losses[] = {5.0234108, 4.9802847, 4.9238043, 4.9155288,
                                  4.8546042, 4.8107634, 4.7769766, 4.4932556};
  const double actor_losses[] = {0.2329711, 0.2787949, 0.2361285, 0.3893767};
  for (int update = 0; update < 8; ++update) {
    const UpdateReport report = learner.update(replay, team);
    EXPECT_NEAR(report.critic_loss, critic_losses[update], 1e-4) << "update " << update;
    if (update % 2 == 1) {
      EXPECT_NEAR(*report.actor_loss, actor_losses[update / 2], 1e-4) << "update " << update;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, ResidualActorTest, testing::Values("sac", "dsac"),
                         [](const auto& info) { return info.param; });

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
