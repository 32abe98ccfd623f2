// Whole episodes of a policy as they can be watched: where everything was, what was done, what it
// brought and what the critics believed of it, at every step. The files that hold them are JSON
// (docs/watching.md); the viewer is study/report/replay_page.h.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
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
  std::vector<float> poses;    // 7 numbers a moving solid: at the start, then after each step
  std::vector<float> actions;  // in [-1, 1], those of a step together
  std::vector<float> rewards;
  // Of each step's action in the state that it was taken in; empty: there were no critics.
  std::vector<float> value, epistemic, aleatoric;

  std::size_t steps() const { return rewards.size(); }
  double total_reward() const;
};

struct EpisodeRecording {
  std::string task, algorithm;
  std::string source;   // what acted: "policy.safetensors"
  std::string critics;  // what judged: "checkpoint of epoch 120", or why nothing did
  bool has_goal = false, distributional = false;
  int actions = 0;
  double seconds_per_step = 0;  // 0: the task has no clock
  std::vector<Solid> solids;
  int moving = 0;            // of them
  bool leaves_path = false;  // the first one that moves is a point on a map
  std::vector<RecordedEpisode> episodes;
  bool complete = true;  // false: further episodes were played and not kept
};

// What the critics believe of an action; nullopt: they do not judge every action.
using Judge = std::function<std::optional<Uncertainty>(std::span<const double> observation,
                                                       std::span<const double> action)>;

// Hands every call on to the environment that `config` describes, and keeps what happens; the
// episodes are the same as without it. What is to be seen is the environment's solids; where it has
// none but its task has a map, a point on that map.
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
  std::optional<StateMap> map_;  // that is drawn
  std::vector<double> observation_;
  std::size_t steps_ = 0;
  bool keeps_ = false;
};

// One line; positions and numbers of steps as base64 of little-endian 32-bit floats.
std::string to_json(const EpisodeRecording& recording);

// Whether a text begins as to_json() writes it.
bool is_recording(std::string_view text);

}  // namespace ovde
