// The program with a task file in place of a task's name.
#ifdef OVDE_MUJOCO

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "cli/program.h"
#include "run/progress_csv.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

// The balancing robot's files in the program's folder.
class SlowTaskFile : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"balancer.toml", "balancer.xml"})
      fs::copy_file(fs::path(OVDE_SOURCE_DIR) / "configs/robots" / name, program_.folder() / name);
  }

  // Replaces text of the task file.
  void change(const std::string& from, const std::string& to) const {
    const fs::path path = program_.folder() / "balancer.toml";
    std::string text = read_file(path);
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    std::ofstream(path) << text.replace(at, from.size(), to);
  }

  Outcome train(const std::string& more) const {
    return program_.run(
        "train --task balancer.toml --algo sac --set network.hidden=[8,8] --set train.batch=8 "
        "--set train.warmup_steps=50 --set train.steps_per_epoch=50 --set train.eval_steps=50 "
        "--set train.eval_epochs=1 --set task.horizon=50 " +
        more);
  }

  Program program_;
};

TEST_F(SlowTaskFile, IsCheckedWithoutATraining) {
  const Outcome checked = program_.run("check balancer.toml --steps 300");
  EXPECT_EQ(checked.code, 0) << checked.err;
  for (const char* expected :
       {"an action every 0.02 s (50 Hz)", "0.5 N m", "gyro_x", "5 rad/s", "command_speed", "jerk",
        "zero actions: 300 steps", "random actions: 300 steps", "ended by fallen",
        "times real time", "left_tyre", "picture"})
    EXPECT_NE(checked.out.find(expected), std::string::npos) << expected << "\n" << checked.out;
  EXPECT_EQ(checked.out.find("-0 "), std::string::npos) << checked.out;
  change("exp(-sensor(\"gyro\").z^2)", "0 * command.speed");
  EXPECT_NE(program_.run("check balancer.toml --steps 300").out.find("reward straight is always 0"),
            std::string::npos);
}

TEST_F(SlowTaskFile, ErrorsLeaveNoFiles) {
  change("sensor(\"gyro\").z", "sensor(\"gyra\").z");
  const auto before = program_.files();
  const Outcome refused = train("--out run");
  EXPECT_EQ(refused.code, 2);
  expect_words(refused.err, {"unknown sensor 'gyra' (did you mean 'gyro'?)"});
  EXPECT_EQ(program_.files(), before);
}

TEST_F(SlowTaskFile, RunsKeepTheirCopyAndTellAChange) {
  ASSERT_EQ(train("--epochs 2 --seeds 0-1 --out run").code, 0);
  EXPECT_TRUE(fs::exists(program_.folder() / "run/task/balancer.toml"));
  EXPECT_TRUE(fs::exists(program_.folder() / "run/task/balancer.xml"));

  // the terms add up to the return
  ProgressReader progress{Folder(program_.folder() / "run/seed_0")};
  progress.look();
  EXPECT_EQ(progress.terms(),
            (std::vector<std::string>{"balance", "speed", "straight", "effort", "jerk"}));
  ASSERT_EQ(progress.rows().size(), 2u);
  double sum = 0;
  for (const double term : progress.rows().back().reward_terms) sum += term;
  EXPECT_NEAR(sum, progress.rows().back().eval_return_mean, 1e-9);

  change("weight = -0.02", "weight = -0.5");
  const Outcome resumed = program_.run("train --resume run --epochs 3");
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_EQ(resumed.err,
            "ovde: warning: balancer.toml has changed since the run began; the run continues with "
            "its own copy in run/task; a changed task needs a new run\n");

  // on another machine the file itself is not there
  fs::remove(program_.folder() / "balancer.toml");
  fs::remove(program_.folder() / "balancer.xml");
  fs::rename(program_.folder() / "run", program_.folder() / "moved");
  const Outcome longer = program_.run("train --resume moved --epochs 4");
  EXPECT_EQ(longer.code, 0) << longer.err;
  const Outcome evaluated = program_.run("eval moved/seed_0 --episodes 2 --record played.html");
  EXPECT_EQ(evaluated.code, 0) << evaluated.err;
  EXPECT_NE(read_file(program_.folder() / "played.html").find("\"reward_terms\":[\"balance\""),
            std::string::npos);
  const Outcome exported = program_.run("export moved/seed_0 --out gait.c");
  EXPECT_EQ(exported.code, 0) << exported.err;
  const std::string code = read_file(program_.folder() / "gait.c");
  for (const char* expected : {"trunk_gravity_z", "gyro_x", "5 rad/s", "command_speed", "0.5 N m"})
    EXPECT_NE(code.find(expected), std::string::npos) << expected;
}

TEST_F(SlowTaskFile, ResumeNamesTheFileThatDiffers) {
  ASSERT_EQ(train("--epochs 1 --out run").code, 0);
  std::ofstream(program_.folder() / "balancer.xml", std::ios::app) << "<!-- heavier -->";
  EXPECT_TRUE(program_.run("train --resume run --epochs 2")
                  .err.starts_with("ovde: warning: balancer.xml has changed since the run began;"));
  fs::remove(program_.folder() / "balancer.xml");
  EXPECT_TRUE(program_.run("train --resume run --epochs 3")
                  .err.starts_with("ovde: warning: balancer.xml is missing;"));
}

TEST_F(SlowTaskFile, AFailedRunNeedsANewOneForAChangedTask) {
  change("exp(-sensor(\"gyro\").z^2)", "log(0.05 - time)");
  const Outcome failed = train("--epochs 2 --out run");
  ASSERT_EQ(failed.code, 1) << failed.err;
  const Outcome exported = program_.run("export run");
  expect_words(exported.err, {"run holds no policy yet: it failed at epoch 0 of 2: ",
                              "balancer.toml", "after a change of the task, begin a new run\n"});
  EXPECT_EQ(train("--epochs 2 --out run").err,
            "ovde: folder run already holds a run; choose another (--out)\n");
}

TEST_F(SlowTaskFile, TheConfigurationOfARunTrainsItsCopy) {
  ASSERT_EQ(train("--epochs 2 --seeds 0-1 --out run").code, 0);
  const std::string copy = read_file(program_.folder() / "run/task/balancer.toml");
  const std::string policy = read_file(program_.folder() / "run/seed_0/policy.safetensors");
  const auto again = [&](const std::string& more, const char* out) {
    const Outcome trained =
        program_.run("train --config run/seed_0/config.toml --out " + std::string(out) + more);
    EXPECT_EQ(trained.code, 0) << trained.err;
    return read_file(program_.folder() / out / "task/balancer.toml");
  };
  change("weight = -0.02", "weight = -0.5");
  EXPECT_EQ(again("", "same"), copy);
  EXPECT_EQ(read_file(program_.folder() / "same/policy.safetensors"), policy);
  EXPECT_EQ(again(" --algo td3", "other_algorithm"), copy);
  EXPECT_NE(again(" --task balancer.toml", "named"), copy);  // the file as it is now

  for (const char* name : {"balancer.toml", "balancer.xml"}) fs::remove(program_.folder() / name);
  EXPECT_EQ(again("", "without_file"), copy);
  EXPECT_EQ(again(" --epochs 3", "longer"), copy);
}

TEST_F(SlowTaskFile, FilesInTheWrongPlaceAreNamed) {
  const std::string answer = "balancer.toml is a task file: ovde train takes it as its task";
  expect_refusals({{"train --config balancer.toml", {answer}},
                   {"study run balancer.toml", {answer, "task = \"balancer.toml\""}},
                   {"check balancer.xml", {"balancer.xml is a model; a task file beside it says"}},
                   {"check nowhere.toml", {"nowhere.toml"}},
                   {"train --task nowhere.toml", {"nowhere.toml"}}},
                  program_);
  change("model = \"balancer.xml\"", "model = \".\"");
  expect_words(
      program_.run("check balancer.toml").err,
      {"balancer.toml:2: the model '.' is a folder; must be a file, such as balancer.xml"});
}

TEST_F(SlowTaskFile, StudiesFindItBesideThePlan) {
  fs::create_directory(program_.folder() / "plans");
  for (const char* name : {"balancer.toml", "balancer.xml"})
    fs::rename(program_.folder() / name, program_.folder() / "plans" / name);
  std::ofstream(program_.folder() / "plans/study.toml")
      << "title = \"balance\"\nepochs = 3\nseeds = \"0\"\n[[row]]\ntask = \"balancer.toml\"\n"
         "[[column]]\nname = \"SAC\"\nalgorithm = \"sac\"\n";
  const Outcome ran = program_.run("study run plans/study.toml --smoke --out study");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(fs::exists(program_.folder() / "study/balancer/SAC"));
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde

#endif
