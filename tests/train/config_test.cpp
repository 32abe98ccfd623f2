#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include <ovde/env.h>
#include <ovde/error.h>
#include <ovde/random.h>
#include "train/config.h"
#include "train/config_keys.h"

namespace ovde {
namespace {

std::vector<Setting> run_of(const std::string& task, const std::string& algorithm) {
  return {{"run.task", task, "--task"}, {"run.algorithm", algorithm, "--algo"}};
}

// A run of GridChaos with assignments as --set has them.
Config resolve(const std::vector<std::string>& assignments, const std::string& algorithm = "ovde_g",
               const std::string& task = "GridChaos-v0") {
  std::vector<Setting> settings = run_of(task, algorithm);
  for (const std::string& assignment : assignments) {
    settings.push_back(parse_assignment(assignment, "--set"));
  }
  return resolve_config(settings);
}

template <typename Call>
std::string complaint(Call call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no InputError";
}

std::string refusal(const std::string& assignment, const std::string& algorithm = "ovde_g") {
  return complaint([&] { resolve({assignment}, algorithm); });
}

// A task registered for these tests: `steps_per_epoch` 0 ties the epoch to the horizon.
std::string task_with(const std::string& name, int horizon, int steps_per_epoch) {
  Task task = find_task("GridChaos-v0");
  task.name = name;
  task.horizon = horizon;
  task.steps_per_epoch = steps_per_epoch;
  task.presets.clear();
  register_task(task);
  return name;
}

TEST(Config, DefaultsAreThoseOfThePaper) {
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
  EXPECT_EQ(config.critic.integer("quantiles"), 20);
  EXPECT_EQ(config.network.list("hidden"), (std::vector<double>{256, 256}));
  EXPECT_EQ(config.train.integer("batch"), 256);
  EXPECT_EQ(config.train.number("discount"), 0.99);
  EXPECT_EQ(config.train.number("learning_rate"), 3e-4);
  EXPECT_EQ(config.train.number("polyak"), 5e-3);
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
    EXPECT_EQ(config.train.integer("steps_per_epoch"), row.n);
    EXPECT_EQ(config.train.integer("replay"), row.replay);
    EXPECT_EQ(config.train.integer("eval_steps"), row.eval_steps);
    EXPECT_EQ(config.train.integer("warmup_steps"), row.warmup_steps);
  }
}

TEST(Config, EpochFollowsTheHorizonOnlyWhereTheTaskTiesThem) {
  const std::string tied = task_with("Tied-v0", 200, 200), free = task_with("Free-v0", 50, 1000);
  EXPECT_EQ(resolve({}, "sac", tied).train.integer("steps_per_epoch"), 200);
  EXPECT_EQ(resolve({"task.horizon=70"}, "sac", tied).train.integer("steps_per_epoch"), 70);
  EXPECT_EQ(resolve({}, "sac", free).train.integer("steps_per_epoch"), 1000);
  EXPECT_EQ(resolve({"task.horizon=70"}, "sac", free).train.integer("steps_per_epoch"), 1000);
}

TEST(Config, WhatWasAskedForIsNotDerived) {
  const Config config = resolve({"train.steps_per_epoch=1000", "train.replay=5000",
                                 "train.eval_steps=200", "train.warmup_steps=300"});
  EXPECT_EQ(config.train.integer("replay"), 5000);
  EXPECT_EQ(config.train.integer("eval_steps"), 200);
  EXPECT_EQ(config.train.integer("warmup_steps"), 300);
}

TEST(Config, DefaultsOfShortEpochsStillTrain) {
  const Config config = resolve({"task.horizon=3"});
  EXPECT_EQ(config.train.integer("warmup_steps"), 256);
  EXPECT_EQ(resolve({"train.steps_per_epoch=1"}).train.integer("eval_steps"), 100);
}

TEST(Config, LaterIsStronger) {
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

TEST(Config, TasksBringValuesOfOtherTables) {
  Task task = find_task("GridChaos-v0");
  task.name = "Shaken-v0";
  task.brings = {{"noise.transition", true}};
  register_task(task);
  EXPECT_TRUE(resolve({}, "sac", "Shaken-v0").noise.flag("transition"));
  EXPECT_FALSE(resolve({"noise.transition=false"}, "sac", "Shaken-v0").noise.flag("transition"));
}

// What a task brings for td3 is nothing to other algorithms, and their files do not change by it.
TEST(Config, GridChaosBringsTd3ItsExploration) {
  EXPECT_EQ(resolve({}, "td3").td3.number("correlation"), 0.9);
  EXPECT_EQ(resolve({"td3.correlation=0.5"}, "ovde_td3").td3.number("correlation"), 0.5);
  EXPECT_EQ(resolve({}, "dsac").td3.number("correlation"), 0);
  EXPECT_EQ(resolve({}, "dsac").td3.number("noise"), 0.1);
}

// A run keeps the meaning it had when a key did not exist yet.
TEST(Config, ARestoredFileHasDefaultsWhereItSaysNothing) {
  const Config now = resolve({}, "td3");
  std::vector<Setting> settings = parse_toml(to_toml(now, "1", ""), "config.toml");
  EXPECT_TRUE(differences(restore_config(settings), now).empty());
  std::erase_if(settings, [](const Setting& s) { return s.key == "td3.correlation"; });
  EXPECT_EQ(restore_config(settings).td3.number("correlation"), 0);
  EXPECT_EQ(resolve_config(settings).td3.number("correlation"), 0.9);
}

TEST(Config, QuantilesBelongToQuantileCritics) {
  EXPECT_EQ(resolve({}, "sac").critic.integer("quantiles"), 1);
  EXPECT_EQ(resolve({}, "oac").critic.integer("quantiles"), 1);
  EXPECT_EQ(resolve({"critic.quantiles=1"}, "sac").critic.integer("quantiles"), 1);
  EXPECT_EQ(refusal("critic.quantiles=20", "sac"),
            "--set: critic.quantiles = 20: sac has no quantile critics; must be 1");
  EXPECT_EQ(refusal("critic.quantiles=1", "dsac"),
            "--set: critic.quantiles = 1: dsac needs at least 2");
}

TEST(Config, RandomFractionsBelongToQuantileCritics) {
  EXPECT_EQ(resolve({"critic.head=iqn"}, "dsac").critic.text("head"), "iqn");
  for (const std::string algorithm : {"sac", "oac"}) {
    EXPECT_EQ(refusal("critic.head=iqn", algorithm),
              "--set: critic.head = \"iqn\", but " + algorithm +
                  " has one value per critic and no quantiles; must be \"qr\"");
  }
  EXPECT_THROW(resolve({"critic.head=iqn", "network.hidden=[64]"}, "dsac"), InputError);
  resolve({"critic.head=iqn", "network.hidden=[64,32,16]"}, "dsac");
}

TEST(Config, ComplaintsNamePlaceKeyAndWhatIsValid) {
  EXPECT_EQ(refusal("train.bacth=1"),
            "--set: unknown key 'train.bacth' (did you mean train.batch?); train has epochs, "
            "steps_per_epoch, "
            "warmup_steps, eval_steps, batch, replay, discount, learning_rate, polyak, "
            "temperature, precision");
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

TEST(Config, KeysThatCannotBeTrainedWithTogetherAreRefused) {
  EXPECT_NE(
      refusal("train.replay=100").find("train.replay = 100: must be at least train.batch = 256"),
      std::string::npos);
  EXPECT_NE(refusal("train.eval_steps=99").find("must be at least task.horizon = 100"),
            std::string::npos);
  EXPECT_NE(refusal("train.warmup_steps=10").find("train.batch = 256: must be at most"),
            std::string::npos);
}

TEST(Config, WhatTheEnvironmentRefusesNamesItsKeyAndPlace) {
  EXPECT_EQ(refusal("noise.coordinate=z"),
            "--set: noise.coordinate = \"z\": must be a state coordinate of the task: x, y");
  EXPECT_EQ(complaint([] {
              resolve({"noise.coordinate=x", "noise.edges=[1,0]"});
            }),
            "--set: noise.edges = [1, 0]: must be in ascending order");
  EXPECT_EQ(
      complaint([] {
        resolve({"noise.coordinate=x", "noise.edges=[0,1]"});
      }),
      "noise.factors = [1, 1]: must be a list of 3 numbers, one more than noise.edges = [0, 1]");
  EXPECT_EQ(
      refusal("task.start=[0,11]"),
      "--set: task.start = [0, 11]: must lie in the square, from -10 to 10 (task.half_width = "
      "10)");
  EXPECT_EQ(refusal("task.half_width=5"),
            "task.goal = [9, 9]: must lie in the square, from -5 to 5 (task.half_width = 5)");
}

TEST(Config, NetworksAreKeptOfEpochsThatThereAre) {
  EXPECT_EQ(complaint([] {
              resolve({"train.epochs=5", "record.networks=[0,5]"});
            }),
            "--set: record.networks has 5; must be epochs from 0 to 4 (train.epochs = 5)");
  EXPECT_NO_THROW(resolve({"train.epochs=5", "record.networks=[0,4]"}));
  // a run that is there can still be read
  Config config = resolve({"train.epochs=5"});
  config.record.set("networks", std::vector<double>{7});
  EXPECT_NO_THROW(restore_config(parse_toml(to_toml(config, "0.0.0", "ovde"), "config.toml")));
}

// A task registered for these tests, with that many action dimensions.
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

TEST(Config, BinsAreAsManyAsTheActionsAllow) {
  const auto bins = [](int dimensions, const std::vector<std::string>& more = {}) {
    return resolve(more, "ids", task_with_actions(dimensions)).ids.integer("bins");
  };
  EXPECT_EQ(bins(1), 5);
  EXPECT_EQ(bins(4), 5);
  EXPECT_EQ(bins(5), 3);
  EXPECT_EQ(bins(9), 2);
  EXPECT_EQ(bins(5, {"ids.max_actions=5000"}), 5);
  EXPECT_EQ(bins(9, {"ids.bins=2"}), 2);
}

TEST(Config, TooManyActionsAreRefusedWithABinsThatFits) {
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
            "--set: critic.head = \"iqn\", but ids has outputs for each of its actions; must be "
            "\"qr\"");
  // only ids has bins
  EXPECT_NO_THROW(resolve({"ids.bins=5"}, "sac", task_with_actions(12)));
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

TEST(Config, ValuesOnTheCommandLine) {
  EXPECT_EQ(parse_value(".05"), OptionValue(0.05));
  EXPECT_EQ(parse_value("+1e3"), OptionValue(1000.0));
  EXPECT_EQ(parse_value("true"), OptionValue(true));
  EXPECT_EQ(parse_value(" [1, .5,2 ] "), OptionValue(std::vector<double>{1, 0.5, 2}));
  EXPECT_EQ(parse_value("[]"), OptionValue(std::vector<double>{}));
  EXPECT_EQ(parse_value("full"), OptionValue(std::string("full")));
  EXPECT_EQ(parse_value("\"full\""), OptionValue(std::string("full")));
  EXPECT_EQ(parse_value("[1, x]"), OptionValue(std::string("[1, x]")));
  EXPECT_EQ(parse_value(""), OptionValue(std::string()));
}

TEST(Config, FilesAreComplainedAboutByLine) {
  const auto refusal_of = [](const std::string& text) {
    return complaint([&] {
      std::vector<Setting> settings = run_of("GridChaos-v0", "sac");
      for (const Setting& setting : parse_toml(text, "my.toml")) settings.push_back(setting);
      resolve_config(settings);
    });
  };
  EXPECT_EQ(refusal_of("[train]\n\nbatch = 0\n"),
            "my.toml:3: train.batch = 0: must be a whole number from 1 to 65536");
  EXPECT_NE(refusal_of("[train]\nbatch = 1\nbath = 3\n")
                .find("my.toml:3: unknown key 'train.bath' (did you mean train.batch?)"),
            std::string::npos);
  EXPECT_NE(refusal_of("batch = 3\n")
                .find("my.toml:1: unknown key 'batch' (did you mean train.batch, in a file batch "
                      "below [train]?); tables are run, task"),
            std::string::npos);
  EXPECT_NE(refusal_of("bacth = 3\n").find("my.toml:1: unknown key 'bacth'"), std::string::npos);
  EXPECT_NE(refusal_of("[train]\nbatch = 1\n[nework]\n")
                .find("my.toml:3: unknown table 'nework' (did you mean network?); tables are run"),
            std::string::npos);
  EXPECT_EQ(refusal_of("[network]\n# hidden = [8]\n"), "no InputError");
  EXPECT_NE(refusal_of("[network]\n\"\" = false\n").find("my.toml:2: unknown key 'network.'"),
            std::string::npos);
  EXPECT_EQ(refusal_of("[train]\nbatch = \n").substr(0, 10), "my.toml:2:");
  EXPECT_EQ(refusal_of("[train]\nbatch = 1\nbatch = 2\n").substr(0, 10), "my.toml:3:");
  EXPECT_EQ(refusal_of("[train.more]\nbatch = 1\n"),
            "my.toml:1: train.more is a table; keys have the form table.key");
  EXPECT_EQ(refusal_of("[task]\nnoise = [1, \"a\"]\n"),
            "my.toml:2: task.noise must be a list of numbers");
  EXPECT_EQ(refusal_of("[task]\nstep = 2020-01-01\n").substr(0, 20), "my.toml:2: task.step");
  // whole numbers that no double is equal to, as --set has them
  for (const char* seed : {"9007199254740993", "-9007199254740993", "9223372036854775807"}) {
    EXPECT_EQ(refusal_of(fmt::format("[run]\nseed = {}\n", seed)),
              "my.toml:2" + refusal(fmt::format("run.seed={}", seed)).substr(5));
  }
  EXPECT_NE(refusal_of("[train]\nepochs = 9007199254740993\n").find("from 1 to 10000000"),
            std::string::npos);
  EXPECT_NE(refusal_of("[network]\nhidden = [9007199254740993]\n").find("from 1 to 4096"),
            std::string::npos);
  EXPECT_EQ(refusal_of("[=x]\n"), "my.toml: not valid TOML");
  EXPECT_NE(refusal_of("[noise]\ncoordinate = \"a\\nb\"\n").find("must be printable"),
            std::string::npos);
}

TEST(Config, DeepNestingIsRefusedNotFollowed) {
  std::string dotted = "a";
  for (int i = 0; i < 300'000; ++i) dotted += ".a";
  EXPECT_NE(complaint([&] { parse_toml(dotted + " = 1\n", "deep.toml"); }).find("deep.toml:1"),
            std::string::npos);
  const std::string brackets(300'000, '[');
  EXPECT_NE(complaint([&] { parse_toml("a = " + brackets, "deep.toml"); }).find("deep.toml:1"),
            std::string::npos);
  std::string lines = "a = [\n";
  for (int i = 0; i < 100'000; ++i) lines += "[\n";
  EXPECT_NE(complaint([&] { parse_toml(lines, "deep.toml"); }).find("deep.toml:"),
            std::string::npos);
  std::string keys = "a = [\n";
  for (int i = 0; i < 100; ++i) keys += "{" + dotted.substr(0, 4001) + " = [\n";
  for (int i = 0; i < 100; ++i) keys += "]}";
  EXPECT_NE(complaint([&] { parse_toml(keys + "]\n", "deep.toml"); }).find("deep.toml:"),
            std::string::npos);
}

// The deepest that is accepted, so that whoever goes through it must bear it.
TEST(Config, TheDeepestFileIsReadAndRefusedByItsMeaning) {
  std::string dotted = "a";
  for (int i = 0; i < 2000; ++i) dotted += ".a";
  std::string keys = "a = [\n", end;
  for (int i = 0; i < 3; ++i) {
    keys += "{" + dotted + " = [\n";
    end += "]}";
  }
  EXPECT_EQ(complaint([&] { parse_toml(keys + "1" + end + "]\n", "deep.toml"); }),
            "deep.toml:2: a must be a list of numbers");
}

TEST(Config, AResolvedFileGivesTheSameConfigAgain) {
  const std::vector<std::string> assignments = {
      "run.seed=9007199254740991", "task.noise=[0.1,1e-300,0.30000000000000004,0]",
      "explore.gradient=full", "train.learning_rate=0.0001234567890123", "network.hidden=[17]"};
  for (const char* algorithm : {"sac", "ovde_q"}) {
    Config config = resolve(assignments, algorithm, "GridChaos-v0:g");
    config.noise.set("coordinate", std::string("\\quote\"d"));  // which no task has
    const std::string text = to_toml(config, "0.0.0", "ovde train 'with\nodd \xff bytes'");
    EXPECT_TRUE(config == restore_config(parse_toml(text, "config.toml"))) << text;
  }
  EXPECT_FALSE(resolve({}) == resolve({"explore.alpha=0.1"}));
  EXPECT_FALSE(resolve({}) == resolve({"run.seed=1"}));
}

std::size_t longest_line(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    longest = std::max(longest, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return longest;
}

TEST(Config, ALongListAndALongCommandCanBeReadBack) {
  std::vector<Setting> settings = run_of("GridChaos-v0", "sac");
  settings.push_back({"train.epochs", 5000.0, "--set"});
  std::vector<double> epochs, edges;
  for (int i = 0; i < 5000; ++i) {
    epochs.push_back(i);
    edges.push_back(-std::exp(i / 10.0));  // as many digits as a number may have
  }
  settings.push_back({"record.networks", epochs, "--set"});
  settings.push_back({"noise.edges", edges, "--set"});
  const Config config = resolve_config(settings);
  const std::string text = to_toml(config, "0.0.0", "ovde " + std::string(10'000, 'x'));
  EXPECT_EQ(longest_line(text), 4096u);
  EXPECT_NE(text.find("xxx...\n"), std::string::npos);
  EXPECT_TRUE(config == resolve_config(parse_toml(text, "config.toml")));
}

// Files of runs do not change: what was written in one line, and could be read back, still is.
TEST(Config, OnlyAListThatDoesNotFitInALineIsWrittenOverSeveral) {
  std::vector<double> list(1000, 10);
  const auto text_with = [&] {
    Config config = resolve_config(run_of("GridChaos-v0", "sac"));
    config.record.set("networks", list);
    return to_toml(config, "0.0.0", "ovde train");
  };
  list.resize(3);
  const std::string three = text_with();
  EXPECT_TRUE(three.starts_with("# ovde 0.0.0\n# ovde train\n\n[run]\n"));
  EXPECT_NE(three.find("\nnetworks = [10, 10, 10]\n"), std::string::npos);
  list.assign(1020, 10);  // "networks = [" and "10, " 1019 times are 4088 characters
  list.back() = 10000;
  EXPECT_EQ(longest_line(text_with()), 4094u);
  list.back() = 1000000;
  EXPECT_EQ(longest_line(text_with()), 4096u);
  list.back() = 10000000;
  const std::string wrapped = text_with();
  EXPECT_LT(longest_line(wrapped), 100u);
  EXPECT_NE(wrapped.find("\nnetworks = [\n  10,\n  10,\n"), std::string::npos);
  EXPECT_NE(wrapped.find("  10,\n  10000000\n]\nvisits = true\n"), std::string::npos);
}

TEST(Config, WhatWouldBeTooLongToReadBackIsRefused) {
  EXPECT_EQ(refusal("noise.coordinate=" + std::string(1001, 'x')),
            "--set: noise.coordinate must be at most 1000 characters long");
  std::string list = "1";
  for (int i = 1; i < 10'000; ++i) list += ",1";
  EXPECT_NO_THROW(resolve({"noise.scales=[" + list + "]"}));
  EXPECT_EQ(refusal("noise.scales=[" + list + ",1]"),
            "--set: noise.scales must be a list of at most 10000 numbers");
}

TEST(Config, SurvivesFlippedBitsAndTruncation) {
  const std::string whole = to_toml(resolve({}), "0.0.0", "ovde train");
  const auto read = [](const std::string& text) {
    try {
      resolve_config(parse_toml(text, "config.toml"));
    } catch (const InputError&) {
    }
  };
  Random random(1, Stream::user);
  for (int i = 0; i < 2000; ++i) {
    std::string text = whole;
    const std::uint32_t bit = random.below(static_cast<std::uint32_t>(8 * text.size()));
    text[bit / 8] = static_cast<char>(text[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NO_THROW(read(text)) << bit;
  }
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NO_THROW(read(whole.substr(0, size))) << size;
  }
}

TEST(Config, EveryDefaultIsInItsOwnRange) {
  for (const Task& task : tasks()) {
    for (const ConfigTable& table : config_tables(task)) {
      for (const ConfigKey& key : table.keys) {
        EXPECT_NO_THROW(check_option(key.option, key.option.standard, table.name));
        EXPECT_FALSE(key.option.help.empty()) << table.name << "." << key.option.name;
      }
    }
    EXPECT_NO_THROW(resolve({}, "ovde_g", task.name));
  }
}

TEST(ConfigFile, CharactersBeyondAsciiAreFineInCommentsAndRefusedInKeysAndValues) {
  const auto settings =
      parse_toml("\xef\xbb\xbf# r\u00e9glages \u2014 na\u00efve\n[train]\nepochs = 7\n", "f.toml");
  ASSERT_EQ(settings.size(), 1u);
  EXPECT_EQ(settings[0].key, "train.epochs");
  EXPECT_THROW(parse_toml("run\xd0\x8b = 1\n", "f.toml"), InputError);
  EXPECT_EQ(parse_toml("\"\u00e9\" = 1\n", "f.toml")[0].key, "\u00e9");
  EXPECT_EQ(complaint([] {
              resolve_config(
                  parse_toml("run.task = \"GridChaos-v0\"\nrun.algorithm = \"sac\"\n"
                             "noise.coordinate = \"\u00e9\"\n",
                             "f.toml"));
            }),
            "f.toml:3: noise.coordinate must be printable ASCII text");
}

TEST(ConfigFile, TextThatIsNotUtf8IsRefused) {
  for (const char* bytes : {"\xe9", "\xc3", "\xc3(", "\xc0\x80", "\xe0\x9f\xbf", "\xed\xa0\x80",
                            "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xff", "\x80"}) {
    EXPECT_EQ(complaint([&] { parse_toml(fmt::format("\n# {}\n", bytes), "f.toml"); }),
              "f.toml:2: is not UTF-8");
  }
  // the first and the last characters of each length
  EXPECT_NO_THROW(
      parse_toml("# \xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"
                 "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
                 "f.toml"));
}

}  // namespace
}  // namespace ovde
