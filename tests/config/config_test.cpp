// Defaults, presets, and values that follow from other keys.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include <ovde/env.h>
#include "config/config.h"
#include "config/config_keys.h"
#include "config/resolving.h"
#include "config/stored_config.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

// Registers a task; with `steps_per_epoch` 0 an epoch is as long as the horizon.
std::string task_with(const std::string& name, int horizon, int steps_per_epoch) {
  Task task = find_task("GridChaos-v0");
  task.name = name;
  task.horizon = horizon;
  task.steps_per_epoch = steps_per_epoch;
  task.presets.clear();
  register_task(task);
  return name;
}

TEST(Config, DefaultsMatchThePaper) {
  const Config config = resolve({});
  EXPECT_EQ(config.task, "GridChaos-v0");
  EXPECT_EQ(config.algorithm, "ovde_g");
  EXPECT_EQ(config.seed, 0u);
  EXPECT_EQ(config.explore.number("alpha"), 0.05);
  EXPECT_EQ(config.explore.number("beta"), 3.2);
  EXPECT_EQ(config.explore.number("normaliser"), 0.5);
  EXPECT_EQ(config.explore.text("gradient"), "unit");
  EXPECT_EQ(config.explore.integer("samples"), 0);
  EXPECT_EQ(config.explore.number("oac_beta"), 4.66);
  EXPECT_EQ(config.explore.number("oac_delta"), 23.53);
  EXPECT_EQ(config.critic.quantiles, 20);
  EXPECT_EQ(config.network.hidden, (std::vector{256, 256}));
  EXPECT_EQ(config.train.batch, 256);
  EXPECT_EQ(config.train.discount, 0.99f);
  EXPECT_EQ(config.train.adam.learning_rate, 3e-4f);
  EXPECT_EQ(config.train.polyak, 5e-3f);
}

// A key whose member is a float prints and compares as the user wrote it.
TEST(Config, FloatKeysKeepTheirDecimalForm) {
  const Config config =
      resolve({"train.polyak=0.1", "rnd.tolerance=2.7", "critic.optimism=-0.3"}, "novd");
  EXPECT_EQ(config.train.polyak, 0.1f);
  const std::string text = to_toml(config, "", "");
  for (const char* line : {"\npolyak = 0.1\n", "\ntolerance = 2.7\n", "\noptimism = -0.3\n",
                           "\nlearning_rate = 0.0003\n", "\ndiscount = 0.99\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line;
  EXPECT_EQ(
      differences(resolve({"train.polyak=0.2"}, "novd"), resolve({"train.polyak=0.1"}, "novd")),
      std::vector<std::string>{"train.polyak = 0.2, was 0.1"});
}

TEST(Config, ProtocolFollowsFromTheStepsOfAnEpoch) {
  struct Row {
    int n, replay, eval_steps, warmup_steps;
  };
  // the table of the method's protocol
  for (const Row& row :
       {Row{100, 100000, 1000, 1000}, Row{250, 100000, 1250, 2500}, Row{500, 100000, 2500, 5000},
        Row{750, 1000000, 3750, 7500}, Row{1000, 1000000, 5000, 10000}}) {
    const Config config = resolve({"task.horizon=" + std::to_string(row.n)});
    EXPECT_EQ(config.train.steps_per_epoch, row.n);
    EXPECT_EQ(config.train.replay, row.replay);
    EXPECT_EQ(config.train.eval_steps, row.eval_steps);
    EXPECT_EQ(config.train.warmup_steps, row.warmup_steps);
  }
}

TEST(Config, EpochFollowsTheHorizonOnlyWhereTheTaskTiesThem) {
  const std::string tied = task_with("Tied-v0", 200, 200), free = task_with("Free-v0", 50, 1000);
  EXPECT_EQ(resolve({}, "sac", tied).train.steps_per_epoch, 200);
  EXPECT_EQ(resolve({"task.horizon=70"}, "sac", tied).train.steps_per_epoch, 70);
  EXPECT_EQ(resolve({}, "sac", free).train.steps_per_epoch, 1000);
  EXPECT_EQ(resolve({"task.horizon=70"}, "sac", free).train.steps_per_epoch, 1000);
}

TEST(Config, EvaluationOfOwnTasksIsATenthOfTheTraining) {
  struct Row {
    int n, horizon, eval_epochs, eval_steps;
  };
  for (const Row& row : {Row{200, 200, 10, 200}, Row{1000, 50, 1, 100}, Row{1000, 200, 2, 200},
                         Row{100, 1000, 100, 1000}, Row{300, 100, 4, 100}}) {
    const std::string task =
        task_with(fmt::format("Own{}in{}-v0", row.horizon, row.n), row.horizon, row.n);
    const TrainConfig train = resolve({}, "sac", task).train;
    EXPECT_EQ(train.eval_epochs, row.eval_epochs) << task;
    EXPECT_EQ(train.score_eval_epochs, row.eval_epochs) << task;
    EXPECT_EQ(train.eval_steps, row.eval_steps) << task;
    EXPECT_LE(train.eval_steps, row.eval_epochs * row.n / 10) << task;
  }
  const std::string task = task_with("OwnTask-v0", 100, 100);
  EXPECT_EQ(resolve({"train.eval_epochs=35"}, "sac", task).train.eval_steps, 300);
  EXPECT_EQ(resolve({"train.eval_epochs=1"}, "sac", task).train.eval_steps, 100);
  EXPECT_EQ(resolve({"train.eval_steps=500"}, "sac", task).train.eval_epochs, 1);
}

TEST(Config, GivenKeysAreNotDerived) {
  const Config config = resolve({"train.steps_per_epoch=1000", "train.replay=5000",
                                 "train.eval_steps=200", "train.warmup_steps=300"});
  EXPECT_EQ(config.train.replay, 5000);
  EXPECT_EQ(config.train.eval_steps, 200);
  EXPECT_EQ(config.train.warmup_steps, 300);
}

TEST(Config, ShortEpochsHaveValidDefaults) {
  const Config config = resolve({"task.horizon=3"});
  EXPECT_EQ(config.train.warmup_steps, 256);
  EXPECT_EQ(resolve({"train.steps_per_epoch=1"}).train.eval_steps, 100);
}

TEST(Config, LaterSettingsOverride) {
  // defaults < preset < file < --set
  const std::vector<double> preset = {0.01, 0.005, 0.005, 0.01}, file = {1, 1, 1, 1},
                            set = {2, 2, 2, 2};
  std::vector<Setting> settings = run_of("GridChaos-v0:h", "sac");
  EXPECT_EQ(resolve_config(settings).task_options.list("noise"), preset);
  for (const Setting& setting : parse_toml("[task]\nnoise = [1, 1, 1, 1]\n", "a.toml"))
    settings.push_back(setting);
  EXPECT_EQ(resolve_config(settings).task_options.list("noise"), file);
  settings.push_back(parse_assignment("task.noise=[2,2,2,2]", "--set"));
  EXPECT_EQ(resolve_config(settings).task_options.list("noise"), set);
}

TEST(Config, TasksPresetKeysOfOtherTables) {
  Task task = find_task("GridChaos-v0");
  task.name = "Shaken-v0";
  task.brings = {{"noise.transition", true}};
  register_task(task);
  EXPECT_TRUE(resolve({}, "sac", "Shaken-v0").noise.transition);
  EXPECT_FALSE(resolve({"noise.transition=false"}, "sac", "Shaken-v0").noise.transition);
}

// The task's preset for td3 does not reach other algorithms or their files.
TEST(Config, GridChaosPresetsTheExplorationOfTd3) {
  EXPECT_EQ(resolve({}, "td3").td3.correlation, 0.9);
  EXPECT_EQ(resolve({"td3.correlation=0.5"}, "ovde_td3").td3.correlation, 0.5);
  EXPECT_EQ(resolve({}, "dsac").td3.correlation, 0);
  EXPECT_EQ(resolve({}, "dsac").td3.noise, 0.1);
}

TEST(Config, TheLearningRateFallsOverTheConfiguredEpochs) {
  EXPECT_EQ(resolve({"train.epochs=30"}).train.learning_rate_epochs, 0);
  const Config config = resolve({"train.epochs=30", "train.learning_rate_end=1e-4"});
  EXPECT_EQ(config.train.learning_rate_epochs, 30);
  EXPECT_EQ(train_longer(config, 50).train.learning_rate_epochs, 30);
  const auto env = make_environment(config);
  EXPECT_EQ(agent_options(config, *env, 1).learner.train.adam.decay_updates,
            30 * updates_per_epoch(config.train));
  EXPECT_EQ(agent_options(resolve({}), *env, 1).learner.train.adam.decay_updates, 0);
}

TEST(Config, FlashSacHasItsRecipe) {
  const Config config = resolve({}, "flashsac");
  EXPECT_EQ(config.network.kind, NetworkKind::residual);
  EXPECT_EQ(config.network.log_std, LogStdForm::squashed);
  EXPECT_EQ(config.critic.head, CriticHead::categorical);
  EXPECT_EQ(config.behaviour.hold, 16);
  EXPECT_EQ(config.train.batch, 512);
  EXPECT_EQ(config.train.warmup_actions, WarmUpActions::uniform);
  EXPECT_EQ(config.train.learning_rate_epochs, config.train.epochs);
  EXPECT_EQ(resolve({"network.log_std=clamped"}, "flashsac").network.log_std, LogStdForm::clamped);
  EXPECT_EQ(resolve({"network.kind=mlp", "network.hidden=[64]"}, "flashsac").network.kind,
            NetworkKind::mlp);
  EXPECT_THROW(resolve({"train.warmup_actions=uniform"}, "td3"), InputError);
}

TEST(Config, ConfigsFlashSacIsTheAlgorithm) {
  std::vector<Setting> settings = read_settings(OVDE_SOURCE_DIR "/configs/flashsac.toml");
  for (const Setting& setting : run_of("GridChaos-v0", "dsac")) settings.push_back(setting);
  Config by_file = resolve_config(settings);
  by_file.algorithm = "flashsac";
  EXPECT_EQ(differences(by_file, resolve({}, "flashsac")), std::vector<std::string>{});
}

TEST(Config, QuantileCriticsHaveLayerNormAndTorchInitialisation) {
  for (const std::string algorithm : {"dsac", "doac", "ovde_g", "ovde_td3", "dsac_rnd"}) {
    EXPECT_TRUE(resolve({}, algorithm).critic.norm);
    EXPECT_EQ(resolve({}, algorithm).network.init, Initialisation::torch);
  }
  for (const std::string algorithm : {"sac", "oac", "ids"}) {
    EXPECT_FALSE(resolve({}, algorithm).critic.norm);
    EXPECT_EQ(resolve({}, algorithm).network.init, Initialisation::base);
  }
  EXPECT_TRUE(resolve({"critic.norm=true"}, "sac").critic.norm);
  for (const std::string head : {"critic.head=qr", "critic.head=iqn", "critic.head=embedded"}) {
    EXPECT_FALSE(resolve({head, "critic.norm=false"}, "dsac").critic.norm);
    EXPECT_EQ(resolve({head, "network.init=base"}, "dsac").network.init, Initialisation::base);
  }
  EXPECT_EQ(refusal("critic.norm=true", "ids"),
            "--set: critic.norm = true: ids has no layer norm; must be false");
}

TEST(Config, RangesAreANumberOrLowAndHigh) {
  const auto action = [](const std::string& value) {
    return resolve({"delay.action=" + value}).disturbances.delay.action;
  };
  EXPECT_EQ(action("3"), (Range{3, 3}));
  EXPECT_EQ(action("[1,4]"), (Range{1, 4}));
  for (const std::string wrong :
       {"[4,1]", "[1]", "[1,2,3]", "1.5", "[0,1.5]", "-1", "[0,2000]", "soon"})
    expect_words(refusal("delay.action=" + wrong),
                 {"--set: delay.action", "a whole number from 0 to 1000", "low <= high"});
  const Config written = resolve({"delay.action=[1,4]", "delay.observation=[2,2]"});
  EXPECT_EQ(restore_config(parse_toml(to_toml(written, "", ""), "")), written);
}

// A valid value of the option that differs from the given one.
OptionValue other_value(const Option& option, const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return !*flag;
  if (const auto* number = std::get_if<double>(&value))
    return *number == option.low ? option.high : option.low;
  if (const auto* list = std::get_if<std::vector<double>>(&value))
    return std::vector<double>(list->size() + 1, std::max(option.low, 2.0));
  const auto& text = std::get<std::string>(value);
  return option.choices.empty() ? text + "x" : option.choices[text == option.choices[0]];
}

TEST(Config, EachKeySetsItsOwnMember) {
  const Config before = resolve({}, "ovde_g", "GridChaos-v0");
  int keys = 0;
  for (const ConfigTable& table :
       config_tables(find_task(before.task), find_algorithm(before.algorithm))) {
    for (const ConfigKey& key : table.keys) {
      const OptionValue value = other_value(key.option, key.get(before));
      Config now = before;
      key.set(now, value);
      EXPECT_EQ(key.get(now), value);
      EXPECT_EQ(differences(now, before),
                std::vector{fmt::format("{}.{} = {}, was {}", table.name, key.option.name,
                                        to_string(value), to_string(key.get(before)))});
      ++keys;
    }
  }
  EXPECT_GT(keys, 40);
}

TEST(Config, ReadDifferencesLeaveOutIgnoredKeys) {
  const Config scout = resolve({}, "scout");
  EXPECT_EQ(differences_read(resolve({"scout.minimum_share=1"}, "scout"), scout),
            std::vector<std::string>{"scout.minimum_share = 1, was 0.2"});

  const Config dsac = resolve({}, "dsac");
  Config other = dsac;
  other.scout.minimum_share = 1;
  EXPECT_EQ(differences_read(other, dsac), std::vector<std::string>{});
  other.scout.share = 0.5;
  EXPECT_EQ(
      differences_read(other, dsac),
      (std::vector<std::string>{"scout.minimum_share = 1, was 0.2", "scout.share = 0.5, was 0"}));
}

TEST(Config, DefaultsAreInRange) {
  for (const Task& task : tasks()) {
    for (const ConfigTable& table : config_tables(task, find_algorithm("dsac"))) {
      for (const ConfigKey& key : table.keys) {
        EXPECT_NO_THROW(check_option(key.option, key.option.default_value, table.name));
        EXPECT_FALSE(key.option.help.empty()) << table.name << "." << key.option.name;
      }
    }
    EXPECT_NO_THROW(resolve({}, "ovde_g", task.name));
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
