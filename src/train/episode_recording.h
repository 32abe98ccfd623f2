// Recorded episodes of a policy: poses, actions, rewards and the critics' values at every step. The
// files are JSON (docs/watching.md); the viewer is study/report/replay_page.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ovde/env.h>
#include <ovde/explorer.h>
#include "config/config.h"

namespace ovde {

struct RecordedEpisode {
  std::uint64_t seed = 0;
  bool success = false;
  std::vector<float> poses;  // 7 numbers for each moving solid: at the start, then after each step
  std::vector<float> actions;  // in [-1, 1], step by step
  std::vector<float> rewards;
  std::vector<float> terms;  // the rewards' terms, step by step; empty: they have none
  // The critics' values of each step's action; empty: there were no critics.
  std::vector<float> value, epistemic, aleatoric;

  std::size_t steps() const { return rewards.size(); }
  double total_reward() const;
};

struct EpisodeRecording {
  std::string task, algorithm;
  std::string source;   // file of the policy: "policy.safetensors"
  std::string critics;  // their source: "checkpoint of epoch 120", or why there are none
  bool has_goal = false, distributional = false;
  int actions = 0;
  std::vector<std::string> reward_terms;  // their names
  double seconds_per_step = 0;            // 0: the task has no clock
  std::vector<Solid> solids;
  int moving = 0;            // the number of solids that move
  bool leaves_path = false;  // the first moving solid is a point on a map
  std::vector<RecordedEpisode> episodes;
  bool complete = true;  // false: more episodes were played than kept
};

// The critics' value of an action; nullopt: they have none for some actions.
using Judge = std::function<std::optional<Uncertainty>(std::span<const double> observation,
                                                       std::span<const double> action)>;

// Records the episodes of the environment that `config` describes, without changing them: the
// environment's solids, or for a task without solids that has a map, a point on that map.
class RecordingEnv final : public EnvWrapper {
 public:
  // After that many steps no further episode is kept.
  static constexpr std::size_t kMostSteps = 100'000;

  // `judge` may be empty.
  RecordingEnv(const Config& config, Judge judge);

  void reset(std::uint64_t seed, std::span<double> observation) override;
  Step step(std::span<const double> action, std::span<double> observation) override;

  EpisodeRecording take() { return std::move(recording_); }

 private:
  void keep_poses(std::span<const double> observation);

  EpisodeRecording recording_;
  Judge judge_;
  std::optional<StateMap> map_;  // set: the map is drawn
  std::vector<double> observation_;
  std::size_t steps_ = 0;
  bool keeps_ = false;
};

// One line of JSON; lists of numbers are base64 of little-endian 32-bit floats.
std::string to_json(const EpisodeRecording& recording);

// Whether a text begins as to_json() writes it.
bool is_recording(std::string_view text);

}  // namespace ovde
