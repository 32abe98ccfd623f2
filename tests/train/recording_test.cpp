// What a run keeps for `ovde inspect`: true to what happened, whole after a resume, and without
// effect on the run.
#include "run/recording.h"

#include <algorithm>
#include <cmath>
#include <fstream>

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <ovde/error.h>
#include "act/policy_file.h"
#include "run/progress_csv.h"
#include "run/run_folder.h"
#include "temporary_folder.h"
#include "train/odd_task.h"
#include "train/trainer.h"
#include "train/whole_runs.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

constexpr int kWarmUp = 20, kSteps = 25, kRecordedEpochs = 4;

Config recorded_config(const std::vector<Setting>& more = {}) {
  std::vector<Setting> settings = {{"run.task", std::string("GridChaos-v0:s"), ""},
                                   {"run.algorithm", std::string("ovde_g"), ""},
                                   {"run.seed", 3.0, ""},
                                   {"network.hidden", std::vector<double>{8, 8}, ""},
                                   {"train.batch", 8.0, ""},
                                   {"train.warmup_steps", double{kWarmUp}, ""},
                                   {"train.steps_per_epoch", double{kSteps}, ""},
                                   {"train.eval_steps", 40.0, ""},
                                   {"train.epochs", double{kRecordedEpochs}, ""},
                                   {"task.horizon", 10.0, ""},
                                   {"checkpoint.epochs", 1.0, ""}};
  settings.insert(settings.end(), more.begin(), more.end());
  return resolve_config(settings);
}

void train_in(const fs::path& folder, const Config& config, int epochs = -1) {
  Watcher watcher(epochs);
  train(plan_new_run(config, {3}, folder, "test"), {.stop = &watcher.stop}, watcher);
}

TEST(Recording, VisitsAreThePositionsAfterEveryStep) {
  Team team(1);
  EpochLoop run(recorded_config(), 3);
  std::vector<Position> visits;
  for (int epoch = 0; epoch < kRecordedEpochs; ++epoch) {
    run.epoch(team, kNever);
    for (const Position& position : run.take_visits()) visits.push_back(position);
  }
  const Replay& replay = run.agent().replay();
  ASSERT_EQ(visits.size(), static_cast<std::size_t>(kWarmUp + kSteps * kRecordedEpochs));
  ASSERT_EQ(replay.added(), static_cast<std::int64_t>(visits.size()));
  for (std::size_t i = 0; i < visits.size(); ++i) {
    const float* next = replay.row(static_cast<std::int64_t>(i)).next_observation;
    EXPECT_EQ(visits[i], (Position{next[0], next[1]})) << i;
  }
}

TEST(Recording, FinishedRunHasAVisitForEveryStep) {
  const TemporaryFolder folder;
  train_in(folder.path(), recorded_config());
  EXPECT_EQ(read_visits(folder.path()).size(),
            static_cast<std::size_t>(read_progress(folder.path()).back().env_steps));
}

TEST(Recording, DoesNotChangeTheRun) {
  const TemporaryFolder with, without;
  train_in(with.path(), recorded_config());
  train_in(without.path(), recorded_config({{"record.visits", false, ""},
                                            {"record.networks", std::vector<double>{}, ""}}));
  EXPECT_EQ(read_file(with.path() / "policy.safetensors"),
            read_file(without.path() / "policy.safetensors"));
  EXPECT_FALSE(fs::exists(without.path() / "visits.f32"));
  EXPECT_FALSE(fs::exists(without.path() / "networks"));
  EXPECT_THROW(read_visits(without.path()), InputError);
  EXPECT_TRUE(recorded_epochs(without.path()).empty());
}

TEST(Recording, LastNetworksAreThoseOfThePolicy) {
  const TemporaryFolder folder;
  const Config config = recorded_config();
  train_in(folder.path(), config);
  ASSERT_EQ(recorded_epochs(folder.path()), (std::vector<int>{0, 1, 2, 3}));
  const auto agent = read_networks(folder.path(), kRecordedEpochs - 1, config);
  const StoredPolicy policy = read_policy(folder.path() / "policy.safetensors");
  EXPECT_TRUE(std::ranges::equal(agent->policy().networks.at(0).parameters,
                                 policy.networks.at(0).parameters));
}

TEST(Recording, RefusesNetworksOfAnotherRun) {
  const TemporaryFolder folder;
  train_in(folder.path(), recorded_config());
  const Config other = recorded_config({{"network.hidden", std::vector<double>{8, 9}, ""}});
  // and the file is a policy: the one that the agent had then
  const StoredPolicy stored = read_policy(
      folder.path() / fmt::format("networks/epoch_{}.safetensors", kRecordedEpochs - 1));
  const StoredPolicy last = read_policy(folder.path() / "policy.safetensors");
  EXPECT_TRUE(std::ranges::equal(stored.networks[0].parameters, last.networks[0].parameters));
  EXPECT_THROW(read_networks(folder.path(), 0, other), InputError);
  EXPECT_THROW(read_networks(folder.path(), 17, recorded_config()), InputError);
}

TEST(Recording, KeepsTheRequestedEpochs) {
  const TemporaryFolder folder;
  train_in(folder.path(), recorded_config({{"record.networks", std::vector<double>{1, 3}, ""}}));
  EXPECT_EQ(recorded_epochs(folder.path()), (std::vector<int>{1, 3}));
}

// A side file never costs the run.
TEST(Recording, DamagedVisitsAreReportedAndTheRunContinues) {
  const TemporaryFolder whole, folder;
  train_in(whole.path(), recorded_config());
  train_in(folder.path(), recorded_config(), 2);
  const fs::path file = folder.path() / "visits.f32";
  std::string bytes = read_file(file);
  bytes[5] = static_cast<char>(bytes[5] ^ 1);
  std::ofstream(file, std::ios::binary) << bytes;

  Watcher watcher;
  EXPECT_TRUE(train(plan_rest_of_run(folder.path()), {}, watcher));
  ASSERT_EQ(watcher.warnings.size(), 1u);
  EXPECT_NE(watcher.warnings[0].find("visits.f32 is damaged"), std::string::npos);
  EXPECT_EQ(read_file(folder.path() / "policy.safetensors"),
            read_file(whole.path() / "policy.safetensors"));
  const auto visits = read_visits(folder.path()), expected = read_visits(whole.path());
  ASSERT_EQ(visits.size(), expected.size());
  const std::size_t lost = kWarmUp + 2 * kSteps;
  EXPECT_TRUE(std::isnan(visits[lost - 1][0]));
  for (std::size_t i = lost; i < visits.size(); ++i) EXPECT_EQ(visits[i], expected[i]);
}

TEST(Recording, OnByDefaultForTasksWithAMap) {
  const Config grid = recorded_config({{"train.epochs", 1250.0, ""}});
  EXPECT_TRUE(grid.record.visits);
  EXPECT_EQ(grid.record.networks,
            (std::vector<int>{124, 249, 374, 499, 624, 749, 874, 999, 1124, 1249}));

  register_odd_task();
  const std::vector<Setting> odd = {{"run.task", std::string("Odd-v0"), ""},
                                    {"run.algorithm", std::string("sac"), ""}};
  EXPECT_FALSE(resolve_config(odd).record.visits);
  EXPECT_TRUE(resolve_config(odd).record.networks.empty());
  auto asked = odd;
  asked.push_back({"record.visits", true, "here"});
  EXPECT_THROW(resolve_config(asked), InputError);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
