#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include <ovde/error.h>
#include "temporary_folder.h"
#include "train/files.h"
#include "train/run_folder.h"

namespace ovde {
namespace {

namespace fs = std::filesystem;

TEST(RunFolder, RowsHaveTheColumnsOfTheContract) {
  EXPECT_EQ(csv_header(),
            "epoch,env_steps,updates,eval_return_mean,eval_return_std,eval_length_mean,explore_"
            "return_mean,"
            "explore_episodes,critic_loss,actor_loss,temperature,q_mean,epistemic,aleatoric,m,"
            "shift,steps_per_second,"
            "eval_success,explore_success,seconds");
  EpochRow row;
  row.epoch = 3;
  row.env_steps = 1400;
  row.updates = 400;
  row.eval_return_mean = 1;
  row.eval_return_std = 2;
  row.eval_length_mean = 3;
  row.explore_return_mean = 4;
  row.explore_episodes = 5;
  double next = 6;
  for (double EpochRow::*member :
       {&EpochRow::critic_loss, &EpochRow::actor_loss, &EpochRow::temperature, &EpochRow::q_mean,
        &EpochRow::epistemic, &EpochRow::aleatoric, &EpochRow::m, &EpochRow::shift,
        &EpochRow::steps_per_second, &EpochRow::eval_success, &EpochRow::explore_success,
        &EpochRow::seconds}) {
    row.*member = next++;
  }
  EXPECT_EQ(csv_row(row), "3,1400,400,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17");
}

TEST(RunFolder, NumbersReadBackTheSameAndNothingIsAnEmptyCell) {
  EpochRow row;
  row.eval_return_mean = 0.1 + 0.2;
  EXPECT_EQ(csv_row(row), "0,0,0,0.30000000000000004,,,,0,,,,,,,,,,,,0");
}

TEST(RunFolder, RowsAreThereAsSoonAsTheyAreAppended) {
  const TemporaryFolder folder;
  ProgressFile file(folder.path());
  file.append({});
  file.append({.epoch = 1});
  const std::string text = read_file(folder.path() / "progress.csv");
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  EXPECT_EQ(text.substr(0, 6), "epoch,");
  EXPECT_THROW(ProgressFile again(folder.path()), Error);  // never written over
}

TEST(RunFolder, AFullDiskIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  const TemporaryFolder folder;
  fs::create_symlink("/dev/full", folder.path() / "x.tmp");
  EXPECT_THROW(write_file_atomically(folder.path() / "x", std::string("text")), Error);
  EXPECT_EQ(folder.names(), std::vector<std::string>{});
}

TEST(RunFolder, AFolderThatHoldsARunIsRefused) {
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

TEST(RunFolder, AFolderThatCannotBeMadeIsRefused) {
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

TEST(RunFolder, APopulationNamesItsAgents) {
  const TemporaryFolder folder;
  const std::vector<std::uint64_t> one = {5}, two = {5, 6};
  EXPECT_EQ(agent_folder("run", one, 0), "run");
  EXPECT_EQ(agent_folder("run", two, 1), "run/seed_6");
  fs::create_directory(folder.path() / "seed_5");
  try {
    check_run_folder(folder.path());
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("seed_5"), std::string::npos);
  }
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

}  // namespace
}  // namespace ovde
