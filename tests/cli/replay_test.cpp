// ovde replay and ovde bench.
#ifdef OVDE_MUJOCO

#include <gtest/gtest.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace ovde {
namespace OVDE_TEST_FILE {

const std::string kRecording = OVDE_SOURCE_DIR "/tests/data/mujoco/Hopper-v4.rollouts.json";

TEST(ReplayCommand, ExitCodeFollowsTheTolerance) {
  const Program program;
  const Outcome same = program.run("replay '" + kRecording + "' --tolerance 1e-6");
  EXPECT_EQ(same.code, 0) << same.err;
  expect_words(same.out, {"Hopper-v4: 5 rollouts, 50 steps"});

  // a different reward; the difference is printed before the command fails
  auto recording = nlohmann::json::parse(std::ifstream(kRecording));
  double& reward = recording.at("rollouts").at(0).at("rewards").at(0).get_ref<double&>();
  reward += 0.25;
  std::ofstream(program.folder() / "other.json") << recording;
  EXPECT_EQ(program.run("replay other.json --tolerance 0.5").code, 0);
  const Outcome other = program.run("replay other.json --tolerance 0.1");
  EXPECT_EQ(other.code, 1);
  expect_words(other.out, {"reward             0.25"});
  expect_words(other.err, {"differs from the recording"});
}

TEST(ReplayCommand, RefusesOtherFiles) {
  const Program program;
  EXPECT_EQ(program.run("replay").code, 2);
  EXPECT_EQ(program.run("replay no_such_file.json").code, 2);
  EXPECT_EQ(program.run("replay '" + kRecording + "' --tolerance -1").err,
            "ovde: --tolerance = -1: must be a number of at least 0\n");
  EXPECT_EQ(program.run("replay .").err, "ovde: cannot read .: is a folder\n");

  std::ofstream(program.folder() / "bad.json") << "{\n\"task\": \"Hopper-v4\",\n\"rollouts\": [}\n";
  const Outcome bad = program.run("replay bad.json");
  EXPECT_EQ(bad.code, 2);
  EXPECT_EQ(bad.err, "ovde: bad.json:3: not valid JSON (byte 37)\n");

  auto recording = nlohmann::json::parse(std::ifstream(kRecording));
  recording.at("rollouts").at(2).at("obs0") = "x";
  std::ofstream(program.folder() / "other.json") << recording;
  const Outcome other = program.run("replay other.json");
  EXPECT_EQ(other.code, 2);
  expect_words(other.err, {"other.json: rollouts[2]: 'obs0' is missing"});
}

TEST(SlowBenchCommand, TrainPrintsOnlyTheChosenAlgorithm) {
  const Outcome outcome = Program().run(
      "bench train --algo dsac --threads 1 --json --set network.hidden=[8] --set train.batch=16 "
      "--set train.warmup_steps=50 --set train.steps_per_epoch=20 --set train.eval_steps=100");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto row = nlohmann::json::parse(outcome.out);  // one row
  EXPECT_EQ(row.at("algo"), "dsac");
  EXPECT_GT(row.at("relative_to_sac").get<double>(), 0.3);  // loose: other programs may be running
}

// A deterministic policy is timed with its network, not as the random action of the warm-up.
TEST(SlowBenchCommand, ActComparesWithThePolicy) {
  const Outcome outcome = Program().run("bench act --algo td3 --threads 1 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_LT(nlohmann::json::parse(outcome.out).at("ratio_to_policy").get<double>(), 5)
      << outcome.out;
}

TEST(SlowBenchCommand, EnvComparesWithTheEngine) {
  const Outcome outcome = Program().run("bench env --task Reacher-v4 --threads 1 --json");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto row = nlohmann::json::parse(outcome.out);
  for (const char* key : {"what", "task", "algo", "population", "threads", "device", "per_second",
                          "ms", "engine_per_second", "ratio"}) {
    EXPECT_TRUE(row.contains(key)) << key;
  }
  EXPECT_GT(row.at("per_second").get<double>(), 100);
  EXPECT_GT(row.at("ratio").get<double>(), 0.5);  // loose: other programs may be running
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde

#endif
