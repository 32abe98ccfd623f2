// Configurations as text: values of the command line, files, and files that are read back.
#include <gtest/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include <ovde/error.h>
#include <ovde/random.h>
#include "config/build.h"
#include "config/config.h"
#include "config/resolving.h"
#include "io/files.h"

namespace ovde {
namespace OVDE_TEST_FILE {

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

// configs/published.toml sets every key that differs between the paper and the published code.
TEST(Config, PublishedFileSetsEveryDifference) {
  std::vector<Setting> settings = run_of("GridChaos-v0", "ovde_g");
  const std::string path = OVDE_SOURCE_DIR "/configs/published.toml";
  for (const Setting& setting : parse_toml(read_file(path), path)) settings.push_back(setting);
  const Config published = resolve_config(settings), paper = resolve({});
  EXPECT_EQ(paper.critic.head, CriticHead::qr);
  EXPECT_EQ(published.critic.head, CriticHead::iqn);
  EXPECT_TRUE(published.critic.norm);
  EXPECT_EQ(published.network.init, Initialisation::torch);

  const auto learner = [](const Config& config) {
    return agent_options(config, *make_environment(config), 0).learner;
  };
  const LearnerOptions a = learner(paper), b = learner(published);
  EXPECT_EQ(a.network.targets, TargetStart::copies);
  EXPECT_EQ(b.network.targets, TargetStart::own);
  EXPECT_EQ(a.critic.weights, QuantileWeights::widths);
  EXPECT_EQ(b.critic.weights, QuantileWeights::equal);
  EXPECT_EQ(a.critic.minimum, Minimum::means);
  EXPECT_EQ(b.critic.minimum, Minimum::quantiles);
  EXPECT_EQ(a.critic.uncertainty.epistemic, EpistemicForm::quantiles);
  EXPECT_EQ(b.critic.uncertainty.epistemic, EpistemicForm::means);
  EXPECT_EQ(a.critic.uncertainty.variance, VarianceForm::biased);
  EXPECT_EQ(b.critic.uncertainty.variance, VarianceForm::unbiased);
}

TEST(Config, ErrorsInFilesNameTheLine) {
  const auto refusal_of = [](const std::string& text) {
    return message_of([&] {
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
  EXPECT_EQ(refusal_of("[network]\n# hidden = [8]\n"), "");
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

TEST(Config, DeepNestingIsRefused) {
  std::string dotted = "a";
  for (int i = 0; i < 300'000; ++i) dotted += ".a";
  EXPECT_NE(message_of([&] { parse_toml(dotted + " = 1\n", "deep.toml"); }).find("deep.toml:1"),
            std::string::npos);
  const std::string brackets(300'000, '[');
  EXPECT_NE(message_of([&] { parse_toml("a = " + brackets, "deep.toml"); }).find("deep.toml:1"),
            std::string::npos);
  std::string lines = "a = [\n";
  for (int i = 0; i < 100'000; ++i) lines += "[\n";
  EXPECT_NE(message_of([&] { parse_toml(lines, "deep.toml"); }).find("deep.toml:"),
            std::string::npos);
  std::string keys = "a = [\n";
  for (int i = 0; i < 100; ++i) keys += "{" + dotted.substr(0, 4001) + " = [\n";
  for (int i = 0; i < 100; ++i) keys += "]}";
  EXPECT_NE(message_of([&] { parse_toml(keys + "]\n", "deep.toml"); }).find("deep.toml:"),
            std::string::npos);
}

// The deepest nesting that the parser accepts.
TEST(Config, DeepestFileIsReadAndItsValueRefused) {
  std::string dotted = "a";
  for (int i = 0; i < 2000; ++i) dotted += ".a";
  std::string keys = "a = [\n", end;
  for (int i = 0; i < 3; ++i) {
    keys += "{" + dotted + " = [\n";
    end += "]}";
  }
  EXPECT_EQ(message_of([&] { parse_toml(keys + "1" + end + "]\n", "deep.toml"); }),
            "deep.toml:2: a must be a list of numbers");
}

TEST(Config, WrittenFilesRestoreTheSameConfig) {
  const std::vector<std::string> assignments = {
      "run.seed=9007199254740991", "task.noise=[0.1,1e-300,0.30000000000000004,0]",
      "train.learning_rate=0.0001234567890123", "network.hidden=[17]"};
  for (const char* algorithm : {"sac", "ovde_q"}) {
    Config config = resolve(assignments, algorithm, "GridChaos-v0:g");
    config.explore.set("gradient", std::string("full"));
    config.noise.coordinate = "\\quote\"d";  // which no task has
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

TEST(Config, LongListsAndCommandsAreReadBack) {
  std::vector<Setting> settings = run_of("GridChaos-v0", "sac");
  settings.push_back({"train.epochs", 5000.0, "--set"});
  std::vector<double> epochs, edges;
  for (int i = 0; i < 5000; ++i) {
    epochs.push_back(i);
    edges.push_back(-std::exp(i / 10.0));  // as many digits as a number may have
  }
  settings.push_back({"record.networks", epochs, "--set"});
  Config config = resolve_config(settings);
  config.noise.edges = edges;
  const std::string text = to_toml(config, "0.0.0", "ovde " + std::string(10'000, 'x'));
  EXPECT_EQ(longest_line(text), 4096u);
  EXPECT_NE(text.find("xxx...\n"), std::string::npos);
  EXPECT_TRUE(config == restore_config(parse_toml(text, "config.toml")));
}

// Existing files must not change: a list that fits in a line stays in one.
TEST(Config, OnlyListsTooLongForALineAreWrapped) {
  std::vector<int> list(1000, 10);
  const auto text_with = [&] {
    Config config = resolve_config(run_of("GridChaos-v0", "sac"));
    config.record.networks = list;
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

TEST(Config, ValuesTooLongToReadBackAreRefused) {
  EXPECT_EQ(refusal("noise.coordinate=" + std::string(1001, 'x')),
            "--set: noise.coordinate must be at most 1000 characters long");
  std::string list = "1";
  for (int i = 1; i < 10'000; ++i) list += ",1";
  EXPECT_NO_THROW(resolve({"noise.transition=true", "noise.scales=[" + list + "]"}));
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

TEST(ConfigFile, OnlyCommentsMayHaveCharactersBeyondAscii) {
  const auto settings =
      parse_toml("\xef\xbb\xbf# r\u00e9glages \u2014 na\u00efve\n[train]\nepochs = 7\n", "f.toml");
  ASSERT_EQ(settings.size(), 1u);
  EXPECT_EQ(settings[0].key, "train.epochs");
  EXPECT_THROW(parse_toml("run\xd0\x8b = 1\n", "f.toml"), InputError);
  EXPECT_EQ(parse_toml("\"\u00e9\" = 1\n", "f.toml")[0].key, "\u00e9");
  EXPECT_EQ(message_of([] {
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
    EXPECT_EQ(message_of([&] { parse_toml(fmt::format("\n# {}\n", bytes), "f.toml"); }),
              "f.toml:2: is not UTF-8");
  }
  // the first and the last characters of each length
  EXPECT_NO_THROW(
      parse_toml("# \xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"
                 "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf",
                 "f.toml"));
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
