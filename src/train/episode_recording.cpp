#include "train/episode_recording.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/version.h"
#include "config/build.h"
#include "env/solid.h"
#include "io/json.h"

namespace ovde {

namespace {

constexpr const char* kRecordingFormat = "ovde replay 1";
constexpr int kTiles = 10;  // tiles of a map in each direction

Pose at(double x, double y, double z) { return {.position = {x, y, z}}; }

// A map as solids: the moving point, tiles that are darker where steps are noisier, the start and
// the goal.
std::vector<Solid> map_solids(const StateMap& map) {
  using Kind = Solid::Kind;
  const double width = map.high[0] - map.low[0], height = map.high[1] - map.low[1];
  const double size = std::max(width, height), thin = 0.004 * size;

  std::vector<Solid> solids = {{.kind = Kind::sphere,
                                .size = {0.015 * size, 0.015 * size, 0.015 * size},
                                .colour = {0.84, 0.37, 0, 1}}};
  std::vector<double> noise;
  const auto centre = [&](int axis, int i) {
    return map.low[axis] + (i + 0.5) / kTiles * (map.high[axis] - map.low[axis]);
  };
  for (int row = 0; row < kTiles; ++row)
    for (int column = 0; column < kTiles; ++column)
      noise.push_back(map.noise ? map.noise(centre(0, column), centre(1, row)) : 0);
  const double most = std::max(std::ranges::max(noise), 1e-12);
  for (int i = 0; i < kTiles * kTiles; ++i) {
    const double share = std::isfinite(noise[i]) ? std::clamp(noise[i] / most, 0.0, 1.0) : 1;
    const int column = i % kTiles, row = i / kTiles;
    const double white = (column + row) % 2 == 0 ? 0.93 : 0.91;
    solids.push_back(
        {.kind = Kind::box,
         .size = {0.501 * width / kTiles, 0.501 * height / kTiles, thin / 2},
         .colour = {white - 0.33 * share, white - 0.28 * share, white - 0.16 * share, 1},
         .fixed = at(centre(0, column), centre(1, row), -thin / 2)});
  }
  solids.push_back({.kind = Kind::cylinder,
                    .size = {0.02 * size, thin / 2, 0},
                    .colour = {0.35, 0.35, 0.38, 1},
                    .fixed = at(map.start[0], map.start[1], thin / 2)});
  if (map.goal_radius > 0) {
    solids.push_back({.kind = Kind::cylinder,
                      .size = {map.goal_radius, thin / 2, 0},
                      .colour = {0, 0.62, 0.45, 1},
                      .fixed = at(map.goal[0], map.goal[1], thin / 2)});
  }
  return solids;
}

Json solid_json(const Solid& solid) {
  Json object = {{"kind", name(solid.kind)}, {"size", solid.size}, {"colour", solid.colour}};
  if (solid.fixed) {
    object["position"] = solid.fixed->position;
    object["orientation"] = solid.fixed->orientation;
  }
  return object;
}

Json episode_json(const RecordedEpisode& episode) {
  const auto numbers = [](const std::vector<float>& values) {
    return base64(std::as_bytes(std::span(values)));
  };
  Json object = {{"seed", std::to_string(episode.seed)},  // more than a JavaScript number holds
                 {"steps", episode.steps()},
                 {"return", episode.total_reward()},
                 {"success", episode.success},
                 {"poses", numbers(episode.poses)},
                 {"actions", numbers(episode.actions)},
                 {"rewards", numbers(episode.rewards)}};
  if (!episode.terms.empty()) object["terms"] = numbers(episode.terms);
  if (!episode.value.empty()) {
    object["value"] = numbers(episode.value);
    object["epistemic"] = numbers(episode.epistemic);
    object["aleatoric"] = numbers(episode.aleatoric);
  }
  return object;
}

}  // namespace

double RecordedEpisode::total_reward() const {
  return std::accumulate(rewards.begin(), rewards.end(), 0.0);
}

RecordingEnv::RecordingEnv(const Config& config, Judge judge)
    : EnvWrapper(make_environment(config)),
      judge_(std::move(judge)),
      observation_(observation_size()) {
  const Task& task = find_task(config.task);
  recording_.task = config.task;
  recording_.algorithm = config.algorithm;
  recording_.has_goal = task.has_goal;
  recording_.distributional = config.critic.quantiles > 1;
  recording_.actions = action_space().size();
  if (const auto* const terms = as<RewardTerms>())
    for (const RewardTerm& term : terms->reward_terms())
      recording_.reward_terms.push_back(term.name);
  if (const double rate = signals().rate; rate > 0) recording_.seconds_per_step = 1 / rate;
  if (const auto* drawn = as<Drawable>()) recording_.solids = drawn->solids();
  if (recording_.solids.empty() && task.map) {
    map_ = task.map(config.task_options);
    recording_.solids = map_solids(*map_);
    recording_.leaves_path = true;
  }
  for (const Solid& solid : recording_.solids) recording_.moving += !solid.fixed;
}

void RecordingEnv::reset(std::uint64_t seed, std::span<double> observation) {
  EnvWrapper::reset(seed, observation);
  keeps_ = steps_ < kMostSteps;
  recording_.complete &= keeps_;
  std::ranges::copy(observation, observation_.begin());
  if (!keeps_) return;
  recording_.episodes.emplace_back().seed = seed;
  keep_poses(observation);
}

Step RecordingEnv::step(std::span<const double> action, std::span<double> observation) {
  if (!keeps_) return EnvWrapper::step(action, observation);
  RecordedEpisode& episode = recording_.episodes.back();
  if (const auto belief = judge_ ? judge_(observation_, action) : std::nullopt) {
    episode.value.push_back(static_cast<float>(belief->mean));
    episode.epistemic.push_back(static_cast<float>(belief->epistemic));
    episode.aleatoric.push_back(static_cast<float>(belief->aleatoric));
  }
  episode.actions.insert(episode.actions.end(), action.begin(), action.end());

  const Step step = EnvWrapper::step(action, observation);
  std::ranges::copy(observation, observation_.begin());
  episode.rewards.push_back(static_cast<float>(step.reward));
  if (const auto* const terms = as<RewardTerms>())
    for (const RewardTerm& term : terms->reward_terms())
      episode.terms.push_back(static_cast<float>(term.value));
  episode.success |= step.success;
  keep_poses(observation);
  ++steps_;
  return step;
}

void RecordingEnv::keep_poses(std::span<const double> observation) {
  std::vector<float>& out = recording_.episodes.back().poses;
  const auto add = [&](const Pose& pose) {
    out.insert(out.end(), pose.position.begin(), pose.position.end());
    out.insert(out.end(), pose.orientation.begin(), pose.orientation.end());
  };
  if (map_) return add(at(observation[0], observation[1], recording_.solids[0].size[2]));
  if (const auto* drawn = as<Drawable>())
    for (const Pose& pose : drawn->poses()) add(pose);
}

std::string to_json(const EpisodeRecording& r) {
  Json object = {{"format", kRecordingFormat},
                 {"version", version()},
                 {"task", r.task},
                 {"algorithm", r.algorithm},
                 {"source", r.source},
                 {"critics", r.critics},
                 {"has_goal", r.has_goal},
                 {"distributional", r.distributional},
                 {"actions", r.actions},
                 {"seconds_per_step", r.seconds_per_step},
                 {"moving", r.moving},
                 {"leaves_path", r.leaves_path},
                 {"solids", Json::array()},
                 {"episodes", Json::array()}};
  if (!r.reward_terms.empty()) object["reward_terms"] = r.reward_terms;
  for (const Solid& solid : r.solids) object["solids"].push_back(solid_json(solid));
  for (const RecordedEpisode& episode : r.episodes)
    object["episodes"].push_back(episode_json(episode));
  return to_line(object) + "\n";
}

bool is_recording(std::string_view text) {
  // recordings of earlier versions have a space after the colon
  for (const char* colon : {"{\"format\":\"", "{\"format\": \""}) {
    if (text.starts_with(std::string(colon) + kRecordingFormat + '"')) return true;
  }
  return false;
}

}  // namespace ovde
