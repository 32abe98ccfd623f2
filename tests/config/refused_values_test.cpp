// Values that are refused, and the messages.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include <ovde/env.h>
#include <ovde/error.h>
#include "config/config.h"
#include "config/resolving.h"
#include "config/stored_config.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

TEST(Config, QuantilesNeedQuantileCritics) {
  EXPECT_EQ(resolve({}, "sac").critic.quantiles, 1);
  EXPECT_EQ(resolve({}, "oac").critic.quantiles, 1);
  EXPECT_EQ(resolve({"critic.quantiles=1"}, "sac").critic.quantiles, 1);
  EXPECT_EQ(
      refusal("critic.quantiles=20", "sac"),
      "--set: critic.quantiles = 20: sac has one value per critic and no quantiles; must be 1");
  EXPECT_EQ(refusal("critic.quantiles=1", "dsac"),
            "--set: critic.quantiles = 1: dsac needs at least 2");
}

TEST(Config, TruncationNeedsFixedFractionsAndLeavesAValue) {
  const Config tqc = resolve({}, "tqc");
  EXPECT_EQ(tqc.critic.quantiles, 25);
  EXPECT_EQ(tqc.critic.dropped, 2);
  EXPECT_EQ(tqc.critic.optimism, 0);
  EXPECT_EQ(resolve({"critic.dropped=3"}, "dsac").critic.optimism, -1);
  EXPECT_EQ(refusal("critic.dropped=20", "dsac"),
            "--set: critic.dropped = 20: must be less than critic.quantiles = 20");
  EXPECT_EQ(refusal("critic.dropped=2", "ids"),
            "--set: critic.dropped = 2: ids has no truncated targets; must be 0");
  EXPECT_NE(refusal("critic.head=iqn", "tqc").find("critic.head = \"qr\""), std::string::npos);
}

TEST(Config, CategoricalCriticsHaveValuesInARange) {
  const Config config = resolve({"critic.head=categorical", "critic.low=-1"}, "tqc");
  EXPECT_EQ(config.critic.head, CriticHead::categorical);
  EXPECT_EQ(config.critic.low, -1);
  EXPECT_NE(refusal("critic.atoms=51", "dsac").find("critic.head = \"categorical\""),
            std::string::npos);
  EXPECT_THROW(resolve({"critic.head=categorical"}, "sac"), InputError);
  EXPECT_THROW(resolve({"critic.head=categorical"}, "ids"), InputError);
  EXPECT_THROW(resolve({"critic.head=categorical", "critic.low=5"}, "dsac"), InputError);
  EXPECT_THROW(resolve({"critic.head=categorical", "critic.minimum=quantiles"}, "dsac"),
               InputError);
}

TEST(Config, RandomFractionsNeedQuantileCritics) {
  EXPECT_EQ(resolve({"critic.head=iqn"}, "dsac").critic.head, CriticHead::iqn);
  for (const std::string algorithm : {"sac", "oac"}) {
    EXPECT_EQ(refusal("critic.head=iqn", algorithm),
              "--set: critic.head = \"iqn\": " + algorithm +
                  " has one value per critic and no quantiles; must be \"qr\"");
  }
  EXPECT_THROW(resolve({"critic.head=iqn", "network.hidden=[64]"}, "dsac"), InputError);
  resolve({"critic.head=iqn", "network.hidden=[64,32,16]"}, "dsac");
}

TEST(Config, ResidualNetworksHaveFixedFractionsAndContinuousActions) {
  const NetworkOptions network = resolve({"network.kind=residual"}, "dsac").network;
  EXPECT_EQ(network.kind, NetworkKind::residual);
  EXPECT_EQ(network.width, 256);
  EXPECT_EQ(network.actor_width, 128);
  EXPECT_THROW(resolve({"network.kind=residual", "critic.head=iqn"}, "dsac"), InputError);
  EXPECT_EQ(refusal("network.kind=residual", "ids"),
            "--set: network.kind = \"residual\": ids has no residual networks; must be \"mlp\"");
}

TEST(Config, SeveralEnvironmentsAreRefusedWhereEpisodesAreChosen) {
  EXPECT_EQ(resolve({"train.envs=4"}, "dsac").train.envs, 4);
  EXPECT_EQ(refusal("train.envs=4", "scout"),
            "--set: train.envs = 4: the scout acts in one episode at a time; must be 1");
  EXPECT_EQ(refusal("train.envs=4", "top"),
            "--set: train.envs = 4: the bandit chooses for one episode at a time; must be 1");
  EXPECT_THROW(resolve({"train.envs=2", "train.n_step=3"}, "dsac"), InputError);
}

TEST(Config, ErrorsNamePlaceKeyAndValidValues) {
  EXPECT_EQ(refusal("checkpoint.epohcs=1"),
            "--set: unknown key 'checkpoint.epohcs' (did you mean checkpoint.epochs?); checkpoint "
            "has epochs, minutes, final");
  EXPECT_NE(refusal("tasks.step=1").find("(did you mean task.step?); tables are run, task, noise"),
            std::string::npos);
  EXPECT_EQ(refusal("train.batch=0"),
            "--set: train.batch = 0: must be a whole number from 1 to 65536");
  EXPECT_EQ(refusal("train.batch=1.5"),
            "--set: train.batch = 1.5: must be a whole number from 1 to 65536");
  EXPECT_EQ(refusal("train.discount=nan"),
            "--set: train.discount = nan: must be a number from 0 to 1");
  EXPECT_EQ(refusal("train.batch=many"),
            "--set: train.batch = \"many\": must be a whole number from 1 to 65536");
  EXPECT_EQ(refusal("td3.penalty=abc"),
            "--set: td3.penalty = \"abc\": must be a number from 0 to 1000000");
  EXPECT_EQ(
      refusal("network.hidden=64"),
      "--set: network.hidden = 64: must be a list of at least one number, each a whole number "
      "from 1 to 4096");
  EXPECT_EQ(refusal("task.noise=quiet"),
            "--set: task.noise = \"quiet\": must be a list of 4 numbers, each a number from 0 to "
            "1000000");
  EXPECT_EQ(refusal("noise.edges=0"),
            "--set: noise.edges = 0: must be a list of at least one number");
  EXPECT_EQ(refusal("explore.gradient=1"),
            "--set: explore.gradient = 1: must be one of unit, raw, full");
  EXPECT_EQ(
      refusal("explore.gradient=ful"),
      "--set: explore.gradient = \"ful\": must be one of unit, raw, full (did you mean full?)");
  EXPECT_NE(refusal("critic.head=c51").find("critic.head = \"c51\": must be one of qr, iqn"),
            std::string::npos);
  EXPECT_NE(refusal("task.step").find("must have the form table.key=value"), std::string::npos);
}

TEST(Config, AbsurdSizesAreOutOfRange) {
  for (const char* assignment :
       {"train.replay=1e15", "train.batch=1e9", "network.hidden=[1e9]", "train.epochs=1e300",
        "task.horizon=1e12", "explore.samples=1e9", "critic.quantiles=1e9",
        "network.hidden=[1,1,1,1,1,1,1,1,1]", "run.seed=1e17"}) {
    EXPECT_NE(refusal(assignment), "") << assignment;
  }
}

TEST(Config, ConflictingKeysAreRefused) {
  EXPECT_NE(
      refusal("train.replay=100").find("train.replay = 100: must be at least train.batch = 256"),
      std::string::npos);
  EXPECT_NE(refusal("train.eval_steps=99").find("must be at least task.horizon = 100"),
            std::string::npos);
  EXPECT_NE(refusal("train.warmup_steps=10").find("train.batch = 256: must be at most"),
            std::string::npos);
}

TEST(Config, ErrorsOfTheEnvironmentNameKeyAndPlace) {
  const auto noisy = [](std::vector<std::string> more) {
    more.push_back("noise.transition=true");
    return message_of([&] { make_environment(resolve(more)); });
  };
  EXPECT_EQ(noisy({"noise.coordinate=z"}),
            "--set: noise.coordinate = \"z\": must be a state coordinate of the task: x, y");
  EXPECT_EQ(noisy({"noise.coordinate=x", "noise.edges=[1,0]"}),
            "--set: noise.edges = [1, 0]: must be in ascending order");
  EXPECT_EQ(
      noisy({"noise.coordinate=x", "noise.edges=[0,1]"}),
      "noise.factors = [1, 1]: must be a list of 3 numbers, one more than noise.edges = [0, 1]");
  EXPECT_EQ(
      refusal("task.start=[0,11]"),
      "--set: task.start = [0, 11]: must lie in the square, from -10 to 10 (task.half_width = "
      "10)");
  EXPECT_EQ(refusal("task.half_width=5"),
            "task.goal = [9, 9]: must lie in the square, from -5 to 5 (task.half_width = 5)");
}

TEST(Config, DelaysAreShorterThanAnEpisode) {
  EXPECT_EQ(refusal("delay.action=100"),
            "--set: delay.action = 100: must be less than task.horizon = 100");
  expect_words(refusal("delay.observation=[0,150]"), {"delay.observation", "task.horizon = 100"});
  EXPECT_NO_THROW(resolve({"delay.action=[0,99]"}));
}

TEST(Config, AHistoryIsNoPositionOnAMap) {
  const Config config = resolve({"task.history=2"});
  EXPECT_FALSE(config.record.visits);
  EXPECT_TRUE(config.record.networks.empty());
  EXPECT_EQ(make_environment(config)->observation_size(), 2 + 2 * (2 + 2));
  expect_words(message_of([] {
                 resolve({"task.history=2", "record.visits=true"});
               }),
               {"record.visits", "with task.history", "not positions"});
}

TEST(Config, NetworksAreSavedAfterExistingEpochs) {
  EXPECT_EQ(message_of([] {
              resolve({"train.epochs=5", "record.networks=[0,5]"});
            }),
            "--set: record.networks: 5 is not an epoch; must be from 0 to 4 (train.epochs = 5)");
  EXPECT_NO_THROW(resolve({"train.epochs=5", "record.networks=[0,4]"}));
  // a stored run can still be read
  Config config = resolve({"train.epochs=5"});
  config.record.networks = {7};
  EXPECT_NO_THROW(restore_config(parse_toml(to_toml(config, "0.0.0", "ovde"), "config.toml")));
}

// Registers a task with this many action dimensions.
std::string task_with_actions(int dimensions) {
  struct Wide final : Env {
    explicit Wide(int size) : space{std::vector<double>(size, -1), std::vector<double>(size, 1)} {}
    int observation_size() const override { return 1; }
    const Box& action_space() const override { return space; }
    void reset(std::uint64_t, std::span<double>) override {}
    Step step(std::span<const double>, std::span<double>) override { return {}; }
    Box space;
  };
  Task task;
  task.name = fmt::format("Wide{}-v0", dimensions);
  task.make = [dimensions](const OptionValues&) { return std::make_unique<Wide>(dimensions); };
  const auto known = [&](const Task& other) { return other.name == task.name; };
  if (std::ranges::none_of(tasks(), known)) register_task(task);
  return task.name;
}

TEST(Config, BinsFitTheLargestNumberOfActions) {
  const auto bins = [](int dimensions, const std::vector<std::string>& more = {}) {
    return resolve(more, "ids", task_with_actions(dimensions)).ids.bins;
  };
  EXPECT_EQ(bins(1), 5);
  EXPECT_EQ(bins(4), 5);
  EXPECT_EQ(bins(5), 3);
  EXPECT_EQ(bins(9), 2);
  EXPECT_EQ(bins(5, {"ids.max_actions=5000"}), 5);
  EXPECT_EQ(bins(9, {"ids.bins=2"}), 2);
}

TEST(Config, TooManyActionsAreRefusedWithFittingBins) {
  const auto says = [](int dimensions, const std::vector<std::string>& settings) {
    return message_of([&] { resolve(settings, "ids", task_with_actions(dimensions)); });
  };
  EXPECT_EQ(says(8, {"ids.bins=5"}),
            "--set: ids.bins = 5: 8 action dimensions make 390625 actions, more than "
            "ids.max_actions = 1000; ids.bins = 2 would fit (256 actions)");
  EXPECT_EQ(says(12, {"ids.bins=5"}),
            "--set: ids.bins = 5: 12 action dimensions make more than 1048576 actions, more than "
            "ids.max_actions = 1000; not even 2 bins would fit");
  EXPECT_EQ(says(12, {}),
            "ids.bins = 2: 12 action dimensions make 4096 actions, more than ids.max_actions = "
            "1000; not even 2 bins would fit");
  EXPECT_EQ(says(2, {"ids.bins=300", "ids.max_actions=100000", "critic.quantiles=100"}),
            "--set: critic.quantiles = 100: with 90000 actions must be at most 11");
  EXPECT_EQ(says(2, {"critic.head=iqn"}),
            "--set: critic.head = \"iqn\": ids has outputs for each of its actions; must be "
            "\"qr\"");
  // only ids has bins
  EXPECT_NO_THROW(resolve({}, "sac", task_with_actions(12)));
}

TEST(Config, TaskAndAlgorithmMustBeNamed) {
  EXPECT_NE(message_of([] { resolve_config({}); }).find("no task given"), std::string::npos);
  EXPECT_NE(message_of([] {
              resolve_config({{"run.task", std::string("GridChaos-v0"), ""}});
            }).find("no algorithm given"),
            std::string::npos);
  EXPECT_NE(message_of([] { resolve({}, "ovdeg"); }).find("did you mean ovde_g?"),
            std::string::npos);
  EXPECT_NE(message_of([] { resolve({"run.task=3"}); }).find("run.task = 3: must be a string"),
            std::string::npos);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
