// Whole updates of SAC, DSAC, TD3, DSAC+RND and DAC against their re-implementation in double
// precision.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "agent/actor_critic/reference_learner.h"
#include "agent/agent_fixture.h"
#include "sanitizer.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using reference::LearnerReference;
using reference::Vec;

struct Case {
  bool distributional;
  int batch, observations, actions, quantiles;
  const char* name;
  PolicyKind policy = PolicyKind::gaussian;
  Bonus bonus = Bonus::none;
  bool norm = false;
  Minimum minimum = Minimum::means;
  int dropped = 0;
  float optimism = -1;
  bool optimist = false;
  int actor_every = 1;
  float target_std = 0;
  int decay_updates = 0;  // the learning rate falls to a third in these
  bool target_policy = true;
};

LearnerOptions options_of(const Case& c) {
  LearnerOptions options;
  options.observation_size = c.observations;
  options.action_size = c.actions;
  options.network.hidden = {16, 16};
  options.critic.quantiles = c.quantiles;
  options.distributional = c.distributional;
  options.policy = c.policy;
  options.critic.norm = c.norm;
  options.critic.minimum = c.minimum;
  options.critic.dropped = c.dropped;
  options.critic.optimism = c.optimism;
  if (c.bonus != Bonus::none) {
    const bool relative = c.bonus == Bonus::discounted && c.actions == 3;
    options.rnd = {.bonus = c.bonus,
                   .scale = relative ? 300.0f : 3.0f,
                   .relative = relative,
                   .tolerance = 0.7f};
    options.rnd_network = {{16, 12}, 6};
  }
  options.optimist = c.optimist;
  if (c.optimist)
    options.dac = {.divergence = 0.1f,
                   .optimism = c.actions == 3 ? 0.7f : 1.6f,
                   .weight = 0.3f,
                   .copy_updates = c.actions == 3 ? 3 : 0};
  options.td3.clip = 0.25f;  // not far from the noise that it clips
  options.td3.penalty = 0.3f;
  options.train.batch = c.batch;
  options.seed = 42;
  // steps that change the networks visibly, and an epsilon that keeps them a smooth function of the
  // gradient where it is small: Adam at its own settings has tests of its own
  options.train.adam.learning_rate = 1e-2f;
  options.train.adam.epsilon = 1e-3f;
  options.train.polyak = 0.05f;
  options.train.actor_every = c.policy == PolicyKind::deterministic ? 2 : c.actor_every;
  options.train.target_std = c.target_std;
  options.train.target_policy = c.target_policy;
  if (c.decay_updates > 0) {
    options.train.adam.learning_rate_end = options.train.adam.learning_rate / 3;
    options.train.adam.decay_updates = c.decay_updates;
  }
  return options;
}

class UpdateTest : public testing::TestWithParam<Case> {
 protected:
  UpdateTest() { spread_parameters(learner, 5); }

  void expect_equal_to(LearnerReference& reference, double tolerance) {
    for (const auto& [name, found] : learner.state().arrays) {
      const Vec& expected = *reference.array(name);
      ASSERT_EQ(found.size(), expected.size());
      double largest = 0;
      for (std::size_t i = 0; i < found.size(); ++i)
        largest = std::max(largest, std::abs(found[i] - expected[i]));
      EXPECT_LT(largest, tolerance) << name;
    }
  }

  Case c = GetParam();
  Learner learner{options_of(c)};
  Replay replay = filled_replay(c.observations, c.actions, 300);
  Team team{2};
};

TEST_P(UpdateTest, FollowsTheReferenceStepByStep) {
  LearnerReference reference(learner);
  for (int update = 1; update <= 5; ++update) {
    const UpdateReport expected = reference.update(replay), found = learner.update(replay, team);
    EXPECT_NEAR(found.critic_loss, expected.critic_loss, 1e-4 * (1 + expected.critic_loss));
    EXPECT_NEAR(found.actor_loss.value(), expected.actor_loss.value(),
                1e-4 * (1 + std::abs(*expected.actor_loss)));
    EXPECT_EQ(found.temperature.has_value(), expected.temperature.has_value());
    EXPECT_NEAR(found.temperature.value_or(0), expected.temperature.value_or(0), 1e-6);
    expect_equal_to(reference, update == 1 ? 1e-5 : 1e-4);
  }
}

// The reference's own gradients: of its losses, by central differences, in a sample of parameters.
TEST_P(UpdateTest, GradientsOfTheReferenceMatchCentralDifferences) {
  SKIP_UNDER_SANITIZER("evaluates a plain reference thousands of times");
  LearnerReference reference(learner);
  const auto batch = reference.draw(replay);
  std::vector<int> which;
  Random random(8, Stream::user);
  for (int l = 0; l < 3; ++l) {
    const auto& layer = reference.actor_shape.layer(l);
    for (int n = 0; n < 8; ++n) {
      which.push_back(static_cast<int>(layer.weights) +
                      static_cast<int>(random.below(layer.outputs)) * layer.stride +
                      static_cast<int>(random.below(layer.inputs)));
      which.push_back(static_cast<int>(layer.bias + random.below(layer.outputs)));
    }
  }
  const auto compare = [&](const Vec& found, const auto& loss, const Vec& at) {
    const Vec expected = reference::gradient([&](const Vec& p) { return loss(p); }, at, which);
    for (std::size_t i = 0; i < which.size(); ++i)
      EXPECT_NEAR(found[which[i]], expected[i], 1e-5 * (1 + std::abs(expected[i])));
  };
  compare(
      reference.actor_gradient(batch), [&](const Vec& p) { return reference.actor_loss(p, batch); },
      reference.actor.parameters);
  if (c.optimist)
    compare(
        reference.optimist_gradient(batch),
        [&](const Vec& p) { return reference.optimist_loss(p, batch); },
        reference.optimist.parameters);

  // the critic's loss by the prediction
  const Vec y = reference.targets(batch[0]);
  Vec z(c.quantiles), slope(c.quantiles);
  for (std::size_t i = 0; i < z.size(); ++i) z[i] = y[i % y.size()];
  for (double& x : z) x += 0.4 * random.normal() + 0.1;
  reference.critic_loss(y, z, &slope);
  const Vec by_z =
      reference::gradient([&](const Vec& x) { return reference.critic_loss(y, x, nullptr); }, z);
  for (std::size_t i = 0; i < z.size(); ++i) EXPECT_NEAR(slope[i], by_z[i], 1e-6);
}

TEST_P(UpdateTest, ValueReportIsThatOfTheNewActions) {
  LearnerReference reference(learner);
  const auto batch = reference.draw(replay);
  const Vec actor = reference.actor.parameters;  // new actions come before the actor's step
  reference.update(replay);
  learner.update(replay, team);
  double mean = 0, epistemic = 0, aleatoric = 0;
  for (const auto& s : batch) {
    const auto now = reference.sample(actor, s.observation, s.noise);
    const Vec input = LearnerReference::join(s.observation, now.action);
    const Vec z1 = reference::mlp(reference.critic_shape, reference.critic[0].parameters, input);
    const Vec z2 = reference::mlp(reference.critic_shape, reference.critic[1].parameters, input);
    double mu = 0, disagreement = 0, second = 0;
    for (std::size_t i = 0; i < z1.size(); ++i) {
      const double n = static_cast<double>(z1.size()), middle = (z1[i] + z2[i]) / 2;
      mu += middle / n;
      second += middle * middle / n;
      disagreement += std::pow((z1[i] - z2[i]) / 2, 2) / n;
    }
    mean += mu / c.batch;
    epistemic += std::sqrt(disagreement) / c.batch;
    aleatoric += std::sqrt(std::max(second - mu * mu, 0.0)) / c.batch;
  }
  const ValueReport found = learner.value_report();
  EXPECT_NEAR(found.mean, mean, 1e-4);
  EXPECT_NEAR(found.epistemic, epistemic, 1e-4);
  EXPECT_NEAR(found.aleatoric, aleatoric, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, UpdateTest,
    testing::Values(
        Case{true, 48, 5, 3, 5, "Dsac"}, Case{true, 100, 2, 2, 20, "DsacOddBatch"},
        Case{true, 8, 17, 6, 1, "DsacOneQuantile"}, Case{false, 48, 5, 3, 1, "Sac"},
        Case{false, 37, 3, 1, 1, "SacOddBatch"},
        Case{true, 48, 5, 3, 5, "Td3", PolicyKind::deterministic},
        Case{true, 37, 2, 2, 20, "Td3OddBatch", PolicyKind::deterministic},
        Case{true, 48, 5, 3, 5, "DsacRnd", PolicyKind::gaussian, Bonus::plain},
        Case{true, 37, 2, 2, 20, "DsacRndOddBatch", PolicyKind::gaussian, Bonus::plain},
        Case{true, 48, 5, 3, 5, "Novd", PolicyKind::gaussian, Bonus::discounted},
        Case{true, 37, 2, 2, 20, "NovdOddBatch", PolicyKind::gaussian, Bonus::discounted},
        Case{true, 37, 5, 3, 5, "NovdTd3", PolicyKind::deterministic, Bonus::discounted},
        Case{true, 48, 5, 3, 5, "Tqc", PolicyKind::gaussian, Bonus::none, false, Minimum::means, 1,
             0},
        Case{true, 37, 2, 2, 20, "TqcNormOddBatch", PolicyKind::gaussian, Bonus::none, true,
             Minimum::means, 3, 0},
        Case{true, 48, 5, 3, 5, "Optimistic", PolicyKind::gaussian, Bonus::none, false,
             Minimum::means, 0, 0.6f},
        Case{true, 37, 5, 3, 5, "OptimisticByQuantile", PolicyKind::gaussian, Bonus::none, true,
             Minimum::quantiles, 0, 0.6f},
        Case{false, 37, 3, 1, 1, "SacOptimistic", PolicyKind::gaussian, Bonus::none, false,
             Minimum::means, 0, 0.6f},
        Case{true, 37, 5, 3, 5, "DsacNorm", PolicyKind::gaussian, Bonus::none, true},
        Case{false, 48, 5, 3, 1, "SacNorm", PolicyKind::gaussian, Bonus::none, true},
        Case{true, 48, 5, 3, 5, "DsacByQuantile", PolicyKind::gaussian, Bonus::none, false,
             Minimum::quantiles},
        Case{true, 37, 5, 3, 5, "DsacNormByQuantile", PolicyKind::gaussian, Bonus::none, true,
             Minimum::quantiles},
        Case{false, 37, 3, 1, 1, "SacByQuantile", PolicyKind::gaussian, Bonus::none, false,
             Minimum::quantiles},
        Case{true, 37, 2, 2, 20, "Td3ByQuantile", PolicyKind::deterministic, Bonus::none, false,
             Minimum::quantiles},
        Case{true, 48, 5, 3, 5, "Dac", PolicyKind::gaussian, Bonus::none, false, Minimum::means, 0,
             -1, true},
        Case{true, 37, 2, 2, 20, "DacNormByQuantileOddBatch", PolicyKind::gaussian, Bonus::none,
             true, Minimum::quantiles, 0, -1, true},
        Case{true, 48, 5, 3, 5, "ActorEverySecondUpdate", PolicyKind::gaussian, Bonus::none, false,
             Minimum::means, 0, -1, false, 2},
        Case{true, 48, 5, 3, 5, "DacActorEveryThirdUpdate", PolicyKind::gaussian, Bonus::none,
             false, Minimum::means, 0, -1, true, 3},
        Case{false, 48, 5, 3, 1, "SacTargetStd", PolicyKind::gaussian, Bonus::none, false,
             Minimum::means, 0, -1, false, 1, 0.15f},
        Case{true, 37, 5, 3, 5, "FallingLearningRate", PolicyKind::gaussian, Bonus::plain, false,
             Minimum::means, 0, -1, true, 2, 0, 3},
        Case{true, 48, 5, 3, 5, "NoTargetPolicy", PolicyKind::gaussian, Bonus::none, false,
             Minimum::means, 0, -1, false, 2, 0, 0, false},
        Case{true, 37, 2, 2, 20, "Td3FallingLearningRate", PolicyKind::deterministic, Bonus::none,
             false, Minimum::means, 0, -1, false, 2, 0, 20}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(Update, TargetNetworksStartAsCopiesOrOnTheirOwn) {
  for (const CriticHead head : {CriticHead::qr, CriticHead::iqn}) {
    for (const PolicyKind policy : {PolicyKind::gaussian, PolicyKind::deterministic}) {
      LearnerOptions options = options_of({true, 8, 2, 2, 5, "", policy});
      options.critic.head = head;
      Learner copies(options);
      options.network.targets = TargetStart::own;
      Learner own(options);
      const auto a = copies.state().arrays, b = own.state().arrays;
      std::vector<Vec> targets;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const Vec left = reference::to_double(a[i].second),
                  right = reference::to_double(b[i].second);
        if (!a[i].first.ends_with(".target")) {
          EXPECT_EQ(left, right) << a[i].first;
          continue;
        }
        // the parameters of this target's network
        const Vec parameters = reference::to_double(a[i - 3].second);
        EXPECT_EQ(left, parameters) << a[i].first;
        std::size_t drawn = 0, same = 0;  // biases may start alike
        for (std::size_t j = 0; j < right.size(); ++j) {
          drawn += right[j] != 0;
          same += right[j] != 0 && right[j] == parameters[j];
        }
        EXPECT_GT(drawn, right.size() / 4);
        EXPECT_LT(same, drawn / 4) << a[i].first;
        targets.push_back(right);
      }
      ASSERT_EQ(targets.size(), 3u);
      EXPECT_NE(targets[1], targets[2]);
    }
  }
}

double log_temperature(Learner& learner) {
  for (const auto& [name, values] : learner.state().arrays) {
    if (name == "log_alpha") return values[0];
  }
  return std::nan("");
}

TEST(Update, TemperatureStartsAtItsOption) {
  LearnerOptions options = options_of({true, 8, 2, 2, 5, ""});
  Learner standard(options);
  EXPECT_EQ(log_temperature(standard), 0);

  options.train.temperature = 0.05f;
  Learner learner(options);
  EXPECT_FLOAT_EQ(log_temperature(learner), std::log(0.05));
  const Replay replay = filled_replay(2, 2, 100);
  LearnerReference reference(learner);
  Team team(1);
  learner.update(replay, team);
  reference.update(replay);
  EXPECT_NEAR(log_temperature(learner), (*reference.array("log_alpha"))[0], 1e-6);
  EXPECT_NE(log_temperature(learner), std::log(0.05f));
}

// Adam's first step is lr * sign(gradient): with the default epsilon the parameters whose gradient
// is not lost in rounding agree too.
TEST(Update, FollowsTheReferenceWithDefaultOptions) {
  LearnerOptions options = options_of({true, 48, 5, 3, 5, ""});
  options.train.adam = {};
  options.train.polyak = 5e-3f;
  Learner learner(options);
  spread_parameters(learner, 6);
  const Replay replay = filled_replay(5, 3, 300);
  LearnerReference reference(learner);
  Team team(1);
  learner.update(replay, team);
  reference.update(replay);
  std::size_t checked = 0, all = 0;
  for (const auto& [name, found] : learner.state().arrays) {
    if (!name.ends_with(".parameters")) continue;
    const std::string net = name.substr(0, name.find('.'));
    for (std::size_t i = 0; i < found.size(); ++i) {
      ++all;
      if (std::abs((*reference.array(net + ".first_moment"))[i]) < 1e-6) continue;
      ++checked;
      EXPECT_NEAR(found[i], (*reference.array(name))[i], 1e-6) << name << " " << i;
    }
  }
  EXPECT_GT(checked, all / 4);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
