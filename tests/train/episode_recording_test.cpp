#include "train/episode_recording.h"

#include <cstring>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "config/build.h"
#include "train/evaluation.h"

namespace ovde {
namespace OVDE_TEST_FILE {

Config config_of(const std::string& task, const std::string& algorithm = "ovde_g") {
  return resolve_config({{"run.task", task, ""}, {"run.algorithm", algorithm, ""}});
}

// An action that depends on what is seen, so that a difference would spread.
void act(std::span<const double> observation, std::span<double> action) {
  for (std::size_t d = 0; d < action.size(); ++d)
    action[d] = std::sin(3 * observation[d % observation.size()] + double(d));
}

EvaluationResult play(Env& env, int episodes) {
  Evaluation evaluation(env, act, Random(3, Stream::evaluation_seeds), 1'000'000'000, episodes);
  evaluation.advance(1'000'000'000, std::atomic<bool>{false});
  return evaluation.result();
}

// Base64 read back by the alphabet of RFC 4648.
std::vector<float> floats(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0, count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<unsigned>(digits.find(c));
    if ((count += 6) >= 8) bytes += static_cast<char>(bits >> (count -= 8) & 255U);
  }
  std::vector<float> out(bytes.size() / 4);
  std::memcpy(out.data(), bytes.data(), out.size() * 4);
  return out;
}

TEST(EpisodeRecording, DoesNotChangeTheEpisodes) {
  for (const std::string task : {"GridChaos-v0:s", "NoisyHopper-v4"}) {
    const Config config = config_of(task);
    RecordingEnv recorded(config, {});
    const auto plain = make_environment(config);
    const EvaluationResult with = play(recorded, 3), without = play(*plain, 3);
    EXPECT_EQ(with.returns, without.returns) << task;
    EXPECT_EQ(with.lengths, without.lengths) << task;

    const EpisodeRecording recording = recorded.take();
    ASSERT_EQ(recording.episodes.size(), 3U);
    for (int e = 0; e < 3; ++e) {
      const RecordedEpisode& episode = recording.episodes[e];
      EXPECT_EQ(double(episode.steps()), with.lengths[e]);
      EXPECT_NEAR(episode.total_reward(), with.returns[e], 1e-3);
      EXPECT_EQ(episode.poses.size(), (episode.steps() + 1) * 7 * recording.moving);
      EXPECT_EQ(episode.actions.size(), episode.steps() * recording.actions);
      EXPECT_TRUE(episode.value.empty());
    }
  }
}

TEST(EpisodeRecording, PathOfAMapIsTheObservations) {
  const Config config = config_of("GridChaos-v0:s");
  std::vector<std::array<double, 2>> seen;
  std::vector<double> judged;
  RecordingEnv env(config, [&](auto observation, auto action) {
    seen.push_back({observation[0], observation[1]});
    judged.push_back(action[1]);
    return std::optional(Uncertainty{observation[0], observation[1], action[0]});
  });
  play(env, 1);
  const EpisodeRecording recording = env.take();
  const RecordedEpisode& episode = recording.episodes.at(0);
  ASSERT_EQ(seen.size(), episode.steps());
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(episode.poses[7 * i], float(seen[i][0]));
    EXPECT_EQ(episode.poses[7 * i + 1], float(seen[i][1]));
    EXPECT_EQ(episode.value[i], float(seen[i][0]));
    EXPECT_EQ(episode.epistemic[i], float(seen[i][1]));
    EXPECT_EQ(episode.aleatoric[i], episode.actions[2 * i]);
    EXPECT_EQ(float(judged[i]), episode.actions[2 * i + 1]);
  }
  EXPECT_TRUE(recording.leaves_path);
}

TEST(EpisodeRecording, JsonHoldsTheSameNumbers) {
  RecordingEnv env(config_of("GridChaos-v0:e"), [](auto, auto) {
    return std::optional(Uncertainty{1.5, 0.25, 0.125});
  });
  play(env, 2);
  EpisodeRecording recording = env.take();
  recording.source = "</script>\"";
  const std::string text = to_json(recording);
  EXPECT_TRUE(is_recording(text));
  EXPECT_EQ(text.find('<'), std::string::npos);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["task"], "GridChaos-v0:e");
  EXPECT_EQ(json["source"], "</script>\"");
  EXPECT_EQ(json["moving"], 1);
  EXPECT_EQ(json["solids"].size(), recording.solids.size());
  ASSERT_EQ(json["episodes"].size(), 2U);
  for (int e = 0; e < 2; ++e) {
    const auto& found = json["episodes"][e];
    const RecordedEpisode& episode = recording.episodes[e];
    EXPECT_EQ(found["steps"], episode.steps());
    EXPECT_EQ(found["seed"], std::to_string(episode.seed));
    EXPECT_EQ(floats(found["poses"]), episode.poses);
    EXPECT_EQ(floats(found["actions"]), episode.actions);
    EXPECT_EQ(floats(found["rewards"]), episode.rewards);
    EXPECT_EQ(floats(found["aleatoric"]), std::vector<float>(episode.steps(), 0.125F));
  }
}

TEST(EpisodeRecording, KeepsAtMostTheLimit) {
  RecordingEnv env(config_of("GridChaos-v0:e"), {});
  play(env, 1100);  // they last 100 steps, except for the few that reach the goal
  const EpisodeRecording recording = env.take();
  std::size_t steps = 0;
  for (const RecordedEpisode& episode : recording.episodes) steps += episode.steps();
  EXPECT_FALSE(recording.complete);
  EXPECT_GE(steps, RecordingEnv::kMostSteps);
  EXPECT_LT(steps, RecordingEnv::kMostSteps + 100);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
