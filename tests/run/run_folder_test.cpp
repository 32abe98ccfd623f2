#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include <ovde/error.h>
#include "io/files.h"
#include "run/run_folder.h"
#include "run/run_state.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

TEST(RunFolder, AFullDiskIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const TemporaryFolder folder;
  fs::create_symlink("/dev/full", folder.path() / "x.tmp");
  EXPECT_THROW(write_file_atomically(folder.path() / "x", std::string("text")), Error);
  EXPECT_EQ(folder.names(), std::vector<std::string>{});
}

TEST(RunFolder, RefusesAFolderWithARun) {
  for (const char* name : {"config.toml", "progress.csv", "summary.json", "seed_0/config.toml"}) {
    const TemporaryFolder folder;
    EXPECT_NO_THROW(check_new_run_folder(folder.path()));
    fs::create_directories((folder.path() / name).parent_path());
    write_file_atomically(folder.path() / name, std::string("x"));
    const auto before = folder.names();
    EXPECT_THROW(ensure_new_run_folder(folder.path()), InputError) << name;
    EXPECT_EQ(folder.names(), before);
  }
}

TEST(RunFolder, RefusesAFolderThatIsNotEmpty) {
  for (const char* name : {"notes.txt", "task/robot.toml", "report.html", "dsac/config.toml"}) {
    const TemporaryFolder folder;
    fs::create_directories((folder.path() / name).parent_path());
    write_file_atomically(folder.path() / name, std::string("x"));
    expect_words(message_of<InputError>([&] { check_new_run_folder(folder.path()); }),
                 {"is not empty; a run needs a folder of its own, such as ", "/run"});
    EXPECT_NO_THROW(check_output_folder(folder.path()));
  }
}

TEST(RunFolder, AcceptsWhatAKilledStartLeaves) {
  const TemporaryFolder folder;
  fs::create_directories(folder.path() / "task");
  for (const char* name : {"lock", "task/robot.toml", "config.toml.tmp"})
    write_file_atomically(folder.path() / name, std::string("x"));
  EXPECT_NO_THROW(ensure_new_run_folder(folder.path()));

  const TemporaryFolder without_lock;  // after a power failure
  write_file_atomically(without_lock.path() / "config.toml.tmp", std::string("x"));
  EXPECT_NO_THROW(ensure_new_run_folder(without_lock.path()));
}

TEST(RunFolder, RefusesAFolderThatCannotBeMade) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "file", std::string("x"));
  EXPECT_THROW(ensure_new_run_folder(folder.path() / "file"), InputError);
  EXPECT_THROW(ensure_new_run_folder(folder.path() / "file" / "run"), InputError);
  EXPECT_THROW(ensure_new_run_folder("/proc/ovde/run"), InputError);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"file"});
}

TEST(RunFolder, CheckingCreatesNothing) {
  const TemporaryFolder folder;
  check_new_run_folder(folder.path() / "a" / "b");
  EXPECT_EQ(folder.names(), std::vector<std::string>{});
  ensure_new_run_folder(folder.path() / "a" / "b");
  EXPECT_TRUE(fs::is_directory(folder.path() / "a" / "b"));
}

TEST(RunFolder, ConfigReadsBack) {
  const TemporaryFolder folder;
  const Config config = resolve_config({{"run.task", std::string("GridChaos-v0:s"), ""},
                                        {"run.algorithm", std::string("ovde_q"), ""},
                                        {"run.seed", 7.0, ""}});
  write_config(folder.path(), config, "ovde train");
  EXPECT_TRUE(read_config(folder.path()) == config);
}

TEST(RunFolder, PopulationReadsBack) {
  const TemporaryFolder folder;
  Population population;
  population.config = resolve_config({{"run.task", std::string("GridChaos-v0:s"), ""},
                                      {"run.algorithm", std::string("ovde_q"), ""},
                                      {"record.networks", std::vector<double>(5000, 7), ""}});
  population.seeds = {3, 9007199254740991};
  write_population(folder.path(), population, std::string(10'000, 'x'));
  EXPECT_TRUE(read_file(folder.path() / "population.toml")
                  .ends_with("\n[population]\nseeds = [\n  3,\n  9007199254740991\n]\n"
                             "checksum = \"43e58ffa\"\n"));
  const auto again = read_population(folder.path());
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->config == population.config);
  EXPECT_EQ(again->seeds, population.seeds);
}

TEST(RunFolder, AgentsHaveTheNamesOfTheirSeeds) {
  const std::vector<std::uint64_t> one = {5}, two = {5, 6};
  EXPECT_EQ(agent_folder("run", one, 0), "run");
  EXPECT_EQ(agent_folder("run", two, 1), "run/seed_6");
}

TEST(RunFolder, MessageNamesARunBelow) {
  const TemporaryFolder folder;
  const auto refusal = [&] { return message_of([&] { check_run_folder(folder.path()); }); };
  fs::create_directory(folder.path() / "seed_5");
  EXPECT_TRUE(refusal().ends_with(" holds no run: it has no config.toml"));
  write_file_atomically(folder.path() / "seed_5/config.toml", std::string());
  expect_words(refusal(), {" holds 1 run; name the folder of one, such as ", "/seed_5"});
}

TEST(RunFolder, SummaryIsJson) {
  RunSummary summary;
  summary.task = "Odd \"task\"\n";
  summary.algorithm = "sac";
  summary.seed = 9007199254740991;
  summary.epochs = 20;
  summary.score = 1.0 / 3;
  summary.first_goal_epoch_explore = 0;
  summary.version = "0.1.0";
  const auto json = nlohmann::json::parse(to_json(summary));
  EXPECT_EQ(json.at("task"), summary.task);
  EXPECT_EQ(json.at("seed"), summary.seed);
  EXPECT_EQ(json.at("score").get<double>(), summary.score);
  EXPECT_TRUE(json.at("first_goal_epoch_eval").is_null());
  EXPECT_EQ(json.at("first_goal_epoch_explore"), 0);
  for (const char* key : {"epochs", "wall_seconds", "steps_per_second", "version", "algorithm"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  summary.score = EpochRow::kNone;
  EXPECT_TRUE(nlohmann::json::parse(to_json(summary)).at("score").is_null());
}

TEST(Metrics, SummaryFollowsFromTheRows) {
  std::vector<EpochRow> rows(50);
  for (int i = 0; i < 50; ++i) {
    rows[i].epoch = i;
    rows[i].eval_return_mean = i;
    rows[i].env_steps = 100 * (i + 1);
    rows[i].seconds = i + 1;
    rows[i].eval_success = i >= 30 ? 0.1 : 0;
    rows[i].explore_success = i == 12 ? 1 : EpochRow::kNone;
  }
  const RunSummary summary = summarise(rows);
  EXPECT_EQ(summary.epochs, 50);
  EXPECT_DOUBLE_EQ(summary.score, (46 + 47 + 48 + 49) / 4.0);  // the last 8 %
  EXPECT_EQ(summary.first_goal_epoch_eval, 30);
  EXPECT_EQ(summary.first_goal_epoch_explore, 12);
  EXPECT_DOUBLE_EQ(summary.steps_per_second, 100);
  EXPECT_TRUE(std::isnan(summarise({}).score));
}

TEST(Metrics, ScoreIsTheMeanOfTheEvaluations) {
  std::vector<EpochRow> rows(50);
  for (int i = 0; i < 50; ++i) {
    rows[i].epoch = i;
    if (i % 3 == 1) rows[i].eval_return_mean = i;
  }
  EXPECT_DOUBLE_EQ(summarise(rows).score, (46 + 49) / 2.0);  // the last 8 % are 46 to 49
  rows.pop_back();  // a run that has not ended: what it has evaluated last
  EXPECT_DOUBLE_EQ(summarise(rows).score, (43 + 46) / 2.0);  // 43 to 46
  for (EpochRow& row : rows) row.eval_return_mean = EpochRow::kNone;
  EXPECT_TRUE(std::isnan(summarise(rows).score));
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
