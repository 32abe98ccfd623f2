// Finished runs that are trained for more epochs.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <ovde/error.h>
#include "run/run_folder.h"
#include "run/run_state.h"
#include "run/run_status.h"
#include "train/resume.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

class SlowLongerTraining : public ResumeTest {};

// From the checkpoint of its end, or an older one; to the bit what one long run gives.
TEST_F(SlowLongerTraining, IsBitIdenticalToOneLongRun) {
  const auto more = [&](const fs::path& folder, int epochs) {
    Watcher watcher;
    return train(plan_rest_of_run(folder, "test", epochs), {}, watcher);
  };
  for (const int saved_every : {3, 0}) {
    for (const double eval_epochs : {1.0, 5.0}) {
      const std::string name = fmt::format("{}_{}", saved_every, eval_epochs);
      RunPlan plan = request(folder_.path() / name, "GridChaos-v0:s", {3, 4});
      plan.config.checkpoint.epochs = saved_every;
      plan.config.checkpoint.final = saved_every == 0;
      plan.config.train.eval_epochs = static_cast<int>(eval_epochs);
      EXPECT_TRUE(train_until(plan, -1));
      EXPECT_TRUE(more(plan.folder, kEpochsOfARun + 4));

      RunPlan whole = plan;
      whole.folder = folder_.path() / (name + "_whole");
      whole.config.train.epochs = kEpochsOfARun + 4;
      EXPECT_TRUE(train_until(whole, -1));
      for (const char* agent : {"seed_3", "seed_4"}) {
        EXPECT_EQ(read_progress(plan.folder / agent).size(), std::size_t{kEpochsOfARun + 4});
        EXPECT_EQ(fingerprint(plan.folder / agent), fingerprint(whole.folder / agent)) << name;
        EXPECT_EQ(read_file(plan.folder / agent / "policy_best.safetensors"),
                  read_file(whole.folder / agent / "policy_best.safetensors"));
      }
      EXPECT_EQ(run_status(plan.folder)[0].epochs, kEpochsOfARun + 4);
    }
  }
}

// Results stay until those of the new end replace them, whatever interrupts the training.
TEST_F(SlowLongerTraining, RemovesNothing) {
  RunPlan plan = request(run());
  plan.config.checkpoint.epochs = 0;
  EXPECT_TRUE(train_until(plan, -1));
  const std::string rows = read_file(run() / "progress.csv");
  const std::string summary = read_file(run() / "summary.json");
  const std::string policy = read_file(run() / "policy.safetensors");
  Watcher watcher(2);
  EXPECT_FALSE(
      train(plan_rest_of_run(run(), "test", kEpochsOfARun + 4), {.stop = &watcher.stop}, watcher));
  EXPECT_TRUE(watcher.warnings.empty());
  EXPECT_TRUE(read_file(run() / "progress.csv").starts_with(rows));
  EXPECT_EQ(read_file(run() / "summary.json"), summary);
  EXPECT_EQ(read_file(run() / "policy.safetensors"), policy);
  const RunStatus status = run_status(run()).at(0);
  EXPECT_EQ(status.state, RunState::interrupted);
  EXPECT_EQ(status.epochs_done, kEpochsOfARun + 2);
  EXPECT_FALSE(is_finished(run()));
}

// As one that was imported, or whose checkpoints were removed.
TEST_F(SlowLongerTraining, NeedsACheckpoint) {
  EXPECT_TRUE(train_until(request(run()), -1));
  const std::string rows = read_file(run() / "progress.csv");
  const auto expect_refused = [&] {
    Watcher watcher;
    EXPECT_THROW(train(plan_rest_of_run(run(), "test", kEpochsOfARun + 2), {}, watcher), Error);
    EXPECT_EQ(read_file(run() / "progress.csv"), rows);
    EXPECT_TRUE(is_finished(run()));
  };
  fs::remove_all(run() / "checkpoints");
  fs::create_directory(run() / "checkpoints");
  expect_refused();
  fs::remove_all(run() / "checkpoints");
  expect_refused();
  fs::remove(run() / "state.json");
  expect_refused();
}

TEST_F(SlowLongerTraining, CannotShortenARun) {
  EXPECT_TRUE(train_until(request(run()), -1));
  EXPECT_THROW(plan_rest_of_run(run(), "test", kEpochsOfARun - 1), InputError);
}

// Killed when the population knew of its new length and only some of its agents did.
TEST_F(SlowLongerTraining, ResumesAfterAKillAtItsStart) {
  const RunPlan plan = request(run(), "GridChaos-v0:s", {3, 4});
  EXPECT_TRUE(train_until(plan, -1));
  RunPlan longer = plan_rest_of_run(run(), "test", kEpochsOfARun + 2);
  write_population(run(), {longer.config, longer.seeds}, "test");
  EXPECT_TRUE(resume_to_end(run()).empty());
  for (const RunStatus& agent : run_status(run())) {
    EXPECT_EQ(agent.state, RunState::finished);
    EXPECT_EQ(agent.epochs_done, kEpochsOfARun + 2);
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
