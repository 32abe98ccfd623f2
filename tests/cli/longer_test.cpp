// A finished run is a beginning: trained for longer, watched with its critics, and cleaned.
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "io/files.h"
#include "run/progress_csv.h"
#include "run/run_status.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

const std::string kSmallRun =
    "train --task GridChaos-v0:s --algo ovde_g --threads 1 --set network.hidden=[8,8] "
    "--set train.batch=8 --set train.warmup_steps=20 --set train.steps_per_epoch=25 "
    "--set train.eval_steps=40 --set task.horizon=40 ";

TEST(SlowLonger, CleanGivesTheSpaceOfFinishedRunsBack) {
  const Program program;
  ASSERT_EQ(program.run(kSmallRun + "--epochs 2 --seeds 0-1 --out runs/finished").code, 0);
  ASSERT_EQ(program.run(kSmallRun + "--epochs 2 --out runs/left").code, 0);
  fs::remove(program.folder() / "runs/left/summary.json");  // as if killed at the last moment
  const Outcome cleaned = program.run("clean runs");
  ASSERT_EQ(cleaned.code, 0) << cleaned.err;
  expect_words(cleaned.out, {"of 2 finished runs", "kept those of 1 unfinished run"});
  EXPECT_TRUE(program.run("clean runs").out.starts_with("no finished run has checkpoints\n"));
  EXPECT_TRUE(fs::is_empty(program.folder() / "runs/finished/seed_0/checkpoints"));
  EXPECT_FALSE(fs::is_empty(program.folder() / "runs/left/checkpoints"));
  expect_words(program.run("train --resume runs/finished --epochs 3").err,
               {"cannot be trained for longer: it has no checkpoint"});
  EXPECT_EQ(program.run("eval runs/finished/seed_0 --episodes 1").code, 0);
}

TEST(SlowLonger, TheReplayNamesTheEpochOfItsCritics) {
  const Program program;
  const std::string unrecorded = "--set record.networks=[] --epochs 3 ";
  ASSERT_EQ(program.run(kSmallRun + unrecorded + "--out end").code, 0);
  const auto critics = [&](const std::string& run) {
    const Outcome outcome =
        program.run("eval " + run + " --episodes 1 --json --record " + run + ".html");
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return nlohmann::json::parse(outcome.out).at("critics").get<std::string>();
  };
  EXPECT_EQ(critics("end"), "checkpoint of epoch 3");
  ASSERT_EQ(program
                .run(kSmallRun + unrecorded +
                     "--set checkpoint.epochs=2 --set checkpoint.final=false --out older")
                .code,
            0);
  EXPECT_EQ(critics("older"), "checkpoint of epoch 2, while the policy is of epoch 3");
  expect_words(read_file(program.folder() / "older.html"),
               {"checkpoint of epoch 2, while the policy is of epoch 3"});
}

// Agents take turns on one thread: each has a part of the speed of all.
TEST(SlowLonger, StatusCountsTheTimeThatAnAgentWaits) {
  const Program program;
  ASSERT_EQ(program.run(kSmallRun + "--epochs 6 --seeds 0-3 --out run").code, 0);
  double together = 0;
  for (const RunStatus& agent : run_status(program.folder() / "run")) {
    together += agent.steps_per_second;
    const auto rows = read_progress(agent.folder);
    const double steps = static_cast<double>(rows.back().env_steps - rows.front().env_steps);
    EXPECT_NEAR(agent.steps_per_second, steps / (rows.back().seconds - rows.front().seconds),
                1e-6 * agent.steps_per_second);
    double at_work = 0;
    for (const EpochRow& row : rows) at_work += row.steps_per_second / std::ssize(rows);
    EXPECT_LT(agent.steps_per_second, 0.7 * at_work);
  }
  const std::string table = program.run("status run").out;
  expect_words(table, {"(4 agents)"});
  const std::string line = table.substr(table.find("(4 agents)"));
  std::vector<std::string> words;
  std::istringstream rest(line.substr(0, line.find('\n')));
  for (std::string word; rest >> word;) words.push_back(word);
  ASSERT_GT(words.size(), 2u) << line;
  EXPECT_NEAR(std::stod(words[words.size() - 2]), together, 1) << line;  // before the time left
}

TEST(SlowLonger, AnInterruptedExtensionIsNotFinished) {
  const Program program;
  const auto plan = [&](int epochs) {
    write_file_atomically(program.folder() / "plan.toml", fmt::format(R"(
title = "longer"
seeds = "0-2"
epochs = {}
measures = ["score"]
[set]
network = {{ hidden = [8, 8] }}
train = {{ batch = 8, warmup_steps = 20, steps_per_epoch = 25, eval_steps = 40 }}
task = {{ horizon = 40 }}
[[row]]
name = "s"
task = "GridChaos-v0:s"
[[column]]
name = "DSAC"
algorithm = "dsac"
)",
                                                                      epochs));
  };
  plan(3);
  const Outcome ran = program.run("study run plan.toml --out study");
  ASSERT_EQ(ran.code, 0) << ran.err;
  plan(5);
  expect_words(program.run("study status plan.toml --out study").out,
               {"0 of 3 runs finished, the last at epoch 3/5"});
  ASSERT_EQ(program.run("study run plan.toml --out study").code, 0);
  expect_words(program.run("study status plan.toml --out study").out, {"finished (3 runs)"});
  for (const RunStatus& run : run_status(program.folder() / "study")) {
    EXPECT_EQ(run.epochs_done, 5);
    // continued, not trained again
    expect_words(read_file(run.folder / "log.txt"), {"resumed after 3 epochs"});
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
