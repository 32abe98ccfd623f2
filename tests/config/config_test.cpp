#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include <ovde/env.h>
#include <ovde/error.h>
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

// A run that is older than a key keeps its behaviour.
TEST(Config, RestoredFilesUseDefaultsForMissingKeys) {
  const Config now = resolve({}, "td3");
  std::vector<Setting> settings = parse_toml(to_toml(now, "1", ""), "config.toml");
  EXPECT_TRUE(differences(restore_config(settings), now).empty());
  std::erase_if(settings, [](const Setting& s) { return s.key == "td3.correlation"; });
  EXPECT_EQ(restore_config(settings).td3.correlation, 0);
  EXPECT_EQ(resolve_config(settings).td3.correlation, 0.9);
}

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

TEST(Config, RemovedKeysAreRefusedWithTheReason) {
  EXPECT_EQ(refusal("critic.count=3", "ovde_g"),
            "--set: critic.count was removed: more critics kept no more goals than two; the last "
            "version that had it is commit 38772dc, see docs/research.md");
  for (const char* removed :
       {"critic.prior=1", "rnd.step_noise=true", "explore.divergence=2", "scout.optimism=0"})
    EXPECT_NE(refusal(removed, "scout").find("was removed: "), std::string::npos) << removed;
}

// push.impulse was in N s; run folders that push nothing have its default.
TEST(Config, ImpulseOfAPushIsRefusedUnlessUnread) {
  const std::string answer =
      "--set: push.impulse was replaced by push.velocity: the change of the robot's velocity in "
      "m/s, whatever its mass";
  EXPECT_EQ(refusal("push.impulse=3", "sac"), answer);
  const std::vector<Setting> stored = {{"run.task", std::string("Hopper-v4"), "config.toml:1"},
                                       {"run.algorithm", std::string("sac"), "config.toml:2"},
                                       {"push.impulse", 1.0, "config.toml:3"},
                                       {"push.probability", 0.0, "config.toml:4"}};
  EXPECT_EQ(restore_config(stored), restore_config({stored[0], stored[1]}));
  std::vector<Setting> pushing = stored;
  pushing[3].value = 0.1;
  EXPECT_THROW(restore_config(pushing), InputError);
}

TEST(Config, RemovedKeysWithTheirDefaultsAreIgnored) {
  const std::vector<Setting> stored = {{"run.task", std::string("GridChaos-v0:s"), "config.toml:1"},
                                       {"run.algorithm", std::string("ovde_g"), "config.toml:2"},
                                       {"critic.count", 2.0, "config.toml:3"},
                                       {"critic.prior", 10.0, "config.toml:4"},
                                       {"rnd.step_noise", false, "config.toml:5"},
                                       {"explore.divergence", 0.0, "config.toml:6"},
                                       {"scout.optimism", -1.0, "config.toml:7"}};
  EXPECT_EQ(restore_config(stored), restore_config({stored[0], stored[1]}));
  EXPECT_EQ(resolve_config(stored), resolve_config({stored[0], stored[1]}));
  for (const Setting& setting : in_full(stored)) EXPECT_NE(setting.key, "critic.count");
}

TEST(Config, RenamedKeysAndValuesAreRead) {
  EXPECT_EQ(resolve({"scout.least=0.7"}, "scout").scout.minimum_share, 0.7);
  EXPECT_EQ(resolve({"train.precision=tf32"}).train.precision, Precision::fp16);
  const std::vector<Setting> stored = {{"run.task", std::string("GridChaos-v0:s"), "config.toml:1"},
                                       {"run.algorithm", std::string("scout"), "config.toml:2"},
                                       {"scout.least", 0.7, "config.toml:3"},
                                       {"train.precision", std::string("tf32"), "config.toml:4"}};
  EXPECT_EQ(restore_config(stored).scout.minimum_share, 0.7);
  EXPECT_EQ(restore_config(stored).train.precision, Precision::fp16);
  int shares = 0;
  for (const Setting& setting : in_full(stored)) {
    EXPECT_NE(setting.key, "scout.least");
    if (setting.key != "scout.minimum_share") continue;
    EXPECT_EQ(setting.value, OptionValue(0.7));
    ++shares;
  }
  EXPECT_EQ(shares, 1);
}

// td3.delay was a key of td3 and ovde_td3; the files of all other runs have its default.
TEST(Config, TheDelayOfTd3IsReadAsActorEvery) {
  EXPECT_EQ(resolve({}, "td3").train.actor_every, 2);
  EXPECT_EQ(resolve({}, "dsac").train.actor_every, 1);
  EXPECT_EQ(resolve({"td3.delay=3"}, "ovde_td3").train.actor_every, 3);
  const auto stored = [](const char* algorithm, double delay) {
    return std::vector<Setting>{{"run.task", std::string("GridChaos-v0:s"), "config.toml:1"},
                                {"run.algorithm", std::string(algorithm), "config.toml:2"},
                                {"td3.delay", delay, "config.toml:3"}};
  };
  EXPECT_EQ(restore_config(stored("td3", 5)).train.actor_every, 5);
  EXPECT_EQ(restore_config(stored("ovde_td3", 2)).train.actor_every, 2);
  EXPECT_EQ(restore_config(stored("dsac", 2)).train.actor_every, 1);
  EXPECT_EQ(resolve_config(stored("dsac", 2)).train.actor_every, 1);
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

TEST(Config, SeveralEnvironmentsAreRefusedWhereEpisodesAreChosen) {
  EXPECT_EQ(resolve({"train.envs=4"}, "dsac").train.envs, 4);
  EXPECT_EQ(refusal("train.envs=4", "scout"),
            "--set: train.envs = 4: the scout acts in one episode at a time; must be 1");
  EXPECT_EQ(refusal("train.envs=4", "top"),
            "--set: train.envs = 4: the bandit chooses for one episode at a time; must be 1");
  EXPECT_THROW(resolve({"train.envs=2", "train.n_step=3"}, "dsac"), InputError);
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

TEST(Config, ErrorsNamePlaceKeyAndValidValues) {
  EXPECT_EQ(
      refusal("train.bacth=1"),
      "--set: unknown key 'train.bacth' (did you mean train.batch?); train has epochs, "
      "steps_per_epoch, updates_per_step, warmup_steps, eval_steps, eval_epochs, "
      "score_eval_epochs, learning_rate_epochs, precision, envs, warmup_actions, batch, replay, "
      "discount, n_step, "
      "learning_rate, learning_rate_end, polyak, "
      "target_policy, actor_every, temperature, tune_temperature, target_std, clip_gradient, "
      "normalise_observations, scale_rewards");
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
    EXPECT_NE(refusal(assignment), "no InputError") << assignment;
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
    return complaint([&] { make_environment(resolve(more)); });
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

TEST(Config, DelaysAreShorterThanAnEpisode) {
  expect_words(refusal("delay.action=100"), {"delay.action", "task.horizon = 100"});
  expect_words(refusal("delay.observation=[0,150]"), {"delay.observation", "task.horizon = 100"});
  EXPECT_NO_THROW(resolve({"delay.action=[0,99]"}));
}

TEST(Config, AHistoryIsNoPositionOnAMap) {
  const Config config = resolve({"task.history=2"});
  EXPECT_FALSE(config.record.visits);
  EXPECT_TRUE(config.record.networks.empty());
  EXPECT_EQ(make_environment(config)->observation_size(), 2 + 2 * (2 + 2));
  expect_words(complaint([] {
                 resolve({"task.history=2", "record.visits=true"});
               }),
               {"record.visits", "with task.history", "not positions"});
}

TEST(Config, NetworksAreSavedAfterExistingEpochs) {
  EXPECT_EQ(complaint([] {
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
    return complaint([&] { resolve(settings, "ids", task_with_actions(dimensions)); });
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
  EXPECT_NE(complaint([] { resolve_config({}); }).find("no task given"), std::string::npos);
  EXPECT_NE(complaint([] {
              resolve_config({{"run.task", std::string("GridChaos-v0"), ""}});
            }).find("no algorithm given"),
            std::string::npos);
  EXPECT_NE(complaint([] { resolve({}, "ovdeg"); }).find("did you mean ovde_g?"),
            std::string::npos);
  EXPECT_NE(complaint([] { resolve({"run.task=3"}); }).find("run.task = 3: must be a string"),
            std::string::npos);
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

// Runs older than these keys had critics without layer norm, unless they had random fractions.
TEST(Config, StoredConfigurationsWithoutTheKeyHaveNoNorm) {
  for (const std::string head : {"qr", "iqn"}) {
    const std::vector<Setting> stored = {{"run.task", std::string("GridChaos-v0"), ""},
                                         {"run.algorithm", std::string("dsac"), ""},
                                         {"critic.head", head, ""}};
    const Config config = restore_config(stored);
    EXPECT_EQ(config.critic.norm, head == "iqn");
    EXPECT_EQ(config.network.init, head == "iqn" ? Initialisation::torch : Initialisation::base);
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
