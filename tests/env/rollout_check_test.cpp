#include <gtest/gtest.h>

#include <fstream>

#include <fmt/format.h>

#include <ovde/error.h>
#include "env/rollout_check.h"
#include "temporary_folder.h"

namespace ovde {
namespace OVDE_TEST_FILE {

// A recording with this text.
class ReplayFile : public testing::Test {
 protected:
  std::string file_with(const std::string& text) const {
    const auto path = folder_.path() / "recording.json";
    std::ofstream(path) << text;
    return path;
  }

 private:
  TemporaryFolder folder_;
};

#ifdef OVDE_MUJOCO

std::string recording(const std::string& task) {
  return fmt::format("{}/tests/data/mujoco/{}.rollouts.json", OVDE_SOURCE_DIR, task);
}

// On another architecture than that of the recording the last bits differ, and contacts amplify
// the difference.
double tolerance_for(const std::string& arch) {
#ifdef __aarch64__
  return arch == "aarch64" ? 1e-10 : 1e-6;
#elif defined(__x86_64__)
  return arch == "x86_64" ? 1e-10 : 1e-6;
#else
  return 1e-6;
#endif
}

class Replay : public testing::TestWithParam<const char*> {};

TEST_P(Replay, MatchesTheRecordedRollouts) {
  const ReplayResult result = replay(recording(GetParam()));
  const double tolerance = tolerance_for(result.arch);
  EXPECT_EQ(result.rollouts, 5);
  EXPECT_EQ(result.steps, 50);
  EXPECT_LE(result.first_observation, tolerance);
  EXPECT_LE(result.observation, tolerance);
  EXPECT_LE(result.reward, tolerance);
  EXPECT_EQ(result.ends, 0);
  EXPECT_TRUE(result.within(tolerance));
}

INSTANTIATE_TEST_SUITE_P(All, Replay,
                         testing::Values("Ant-v4", "HalfCheetah-v4", "Hopper-v4", "Reacher-v4",
                                         "Pusher-v4", "InvertedDoublePendulum-v4",
                                         "InvertedPendulum-v4", "Swimmer-v4", "Walker2d-v4",
                                         "Humanoid-v4"),
                         [](const auto& task) {
                           const std::string name = task.param;
                           return name.substr(0, name.find('-'));
                         });

TEST_F(ReplayFile, DifferencesAreReported) {
  std::ifstream in(recording("Reacher-v4"));
  std::string text(std::istreambuf_iterator<char>(in), {});
  const std::string key = "\"rewards\":[";
  text.insert(text.find(key) + key.size(), "9");  // -0.3 becomes 9-0.3: not JSON
  EXPECT_THROW(replay(file_with(text)), InputError);

  text.replace(text.find(key) + key.size(), 1, "1e3,");  // one reward too many
  EXPECT_THROW(replay(file_with(text)), InputError);

  const auto second = text.find(',', text.find(key) + key.size());
  text.erase(second, text.find(',', second + 1) - second);  // the first reward is 1e3 instead
  const ReplayResult result = replay(file_with(text));
  EXPECT_GT(result.reward, 900);
  EXPECT_FALSE(result.within(1e-6));
}

#endif

TEST_F(ReplayFile, InvalidFilesAreRefused) {
  EXPECT_THROW(replay("/does/not/exist.json"), InputError);
  const char* const wrong[] = {
      "",
      "[]",
      "{}",
      "nonsense",
      R"({"task": 3, "rollouts": []})",
      R"({"task": "NoSuchTask-v1", "rollouts": []})",
      R"({"task": "GridChaos-v0"})",
      R"({"task": "GridChaos-v0", "rollouts": []})",
      R"({"task": "GridChaos-v0", "rollouts": [[]]})",
      R"({"task": "GridChaos-v0", "rollouts": [{"init_qpos": [], "init_qvel": [], "obs0": [0, 0], "actions": [],
          "obs": [], "rewards": [], "terminated": []}]})",
#ifdef OVDE_MUJOCO
      R"({"task": "Hopper-v4", "rollouts": [{"init_qpos": [1], "init_qvel": [], "obs0": [], "actions": [],
          "obs": [], "rewards": [], "terminated": []}]})",
      R"({"task": "Hopper-v4", "rollouts": [{"init_qpos": [0, 1.25, 0, 0, 0, 0], "init_qvel": [0, 0, 0, 0, 0, 0],
          "obs0": [1.25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "actions": [[1, 2]],
          "obs": [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]], "rewards": [0], "terminated": [false]}]})",
      R"({"task": "Hopper-v4", "rollouts": [{"init_qpos": [0, 1.25, "x", 0, 0, 0], "init_qvel": [0, 0, 0, 0, 0, 0],
          "obs0": [1.25, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], "actions": [[1, 2]],
          "obs": [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]], "rewards": [0], "terminated": [false]}]})",
#endif
  };
  for (const char* text : wrong) EXPECT_THROW(replay(file_with(text)), InputError) << text;
  EXPECT_THROW(replay(file_with(std::string(100000, '['))), InputError);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
