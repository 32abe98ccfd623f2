// ovde eval: plays episodes with the policy of a run, prints the results and records them.
#include <atomic>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ovde/env.h>
#include <ovde/policy.h>
#include "cli/commands.h"
#include "config/build.h"
#include "io/files.h"
#include "io/json.h"
#include "run/recording.h"
#include "run/run_folder.h"
#include "run/run_status.h"
#include "serve/video.h"
#include "stats/statistics.h"
#include "study/report/replay_page.h"
#include "train/episode_recording.h"
#include "train/evaluation.h"
#include "train/latest_state.h"

namespace ovde::cli {

namespace fs = std::filesystem;

namespace {

// A policy file, or the agent of the last checkpoint of an unfinished run.
struct FoundActor {
  fs::path run;
  Act act;
  std::string source;                     // "policy.safetensors"
  fs::path file = {};                     // empty: the agent of a checkpoint
  std::shared_ptr<EpochLoop> state = {};  // the checkpoint; null: a policy file
};

FoundActor find_actor(const fs::path& path) {
  try {
    const PolicyOfRun found = policy_of_run(path);
    const auto policy = std::make_shared<Policy>(Policy::load(found.file.string()));
    return {
        .run = found.run,
        .act = [policy](auto observation, auto action) { policy->act_unit(observation, action); },
        .source = found.file.filename().string(),
        .file = found.file};
  } catch (const UnfinishedRun&) {
    const std::shared_ptr<EpochLoop> state = read_latest_state(path);
    if (!state) throw;
    return {
        .run = path,
        .act = [state](auto observation, auto action) { state->agent().act(observation, action); },
        .source = fmt::format("checkpoint of epoch {}", state->epochs_done()),
        .state = state};
  }
}

// The critics whose values are recorded.
struct Critic {
  Judge judge;         // empty: none
  std::string source;  // which they are, or why there are none
};

Critic judged_by(std::shared_ptr<Agent> agent, std::string source) {
  const auto judge = [agent](auto observation, auto action) -> std::optional<Uncertainty> {
    const QuantilePair* const z = agent->quantiles(observation, action);
    return z == nullptr ? std::nullopt : std::optional(uncertainty(*z));
  };
  const std::vector<double> o(agent->options().learner.observation_size),
      a(agent->options().learner.action_size);
  if (!judge(o, a)) return {{}, "none: the critics of this algorithm do not rate single actions"};
  return {judge, std::move(source)};
}

// A policy file has no critics. Takes those of the same epoch where the run stored its networks;
// otherwise, for the last policy, those of the last checkpoint, a few minutes older.
Critic find_critic(const FoundActor& actor, const Config& config) {
  const auto from_checkpoint = [](const std::shared_ptr<EpochLoop>& state) {
    return judged_by({state, &state->agent()},
                     fmt::format("checkpoint of epoch {}", state->epochs_done()));
  };
  if (actor.state) return from_checkpoint(actor.state);
  const bool is_last = actor.file.filename() == "policy.safetensors";
  for (const int epoch : recorded_epochs(actor.run)) {
    if (is_last ? epoch == config.train.epochs - 1
                : fs::equivalent(actor.file, network_file(actor.run, epoch)))
      return judged_by(read_networks(actor.run, epoch, config),
                       fmt::format("networks of epoch {}", epoch));
  }
  if (!is_last) return {{}, fmt::format("none: {} contains no critics", actor.file.string())};
  if (const std::shared_ptr<EpochLoop> state = read_latest_state(actor.run))
    return from_checkpoint(state);
  return {{}, "none: the run has no checkpoint (checkpoint.epochs, checkpoint.minutes)"};
}

EvaluationResult play(const EvalCommand& command, Env& env, const Act& act) {
  constexpr auto kAll = std::numeric_limits<std::int64_t>::max();
  Evaluation evaluation(env, act, Random(command.seed, Stream::evaluation_seeds), kAll,
                        command.episodes);
  const std::atomic<bool> never{false};
  evaluation.advance(kAll, never);
  return evaluation.result();
}

void check_free(const fs::path& file) {
  std::error_code ignored;
  if (fs::exists(file, ignored))
    throw InputError(fmt::format("{} exists already; remove it, or choose another", file.string()));
  if (file.has_parent_path()) make_folder(file.parent_path());
}

void write_recording(const EpisodeRecording& recording, const fs::path& file,
                     const std::string& run) {
  const std::string json = to_json(recording);
  const std::string title = fmt::format("{} on {}", recording.algorithm, recording.task);
  write_file_atomically(
      file, file.extension() == ".html" ? replay_page(title, json, "run " + run) : json);
}

}  // namespace

void run(const EvalCommand& command) {
  const FoundActor actor = find_actor(command.folder);
  const Config config = read_config(actor.run);
  std::optional<EpisodeRecording> recording;
  std::optional<Video> video;
  EvaluationResult result;
  if (command.record || command.video) {
    for (const auto& file : {command.record, command.video})
      if (file) check_free(*file);
    const Critic critic = find_critic(actor, config);
    RecordingEnv env(config, critic.judge);
    result = play(command, env, actor.act);
    recording = env.take();
    recording->source = actor.source;
    recording->critics = critic.source;
    if (command.record) write_recording(*recording, *command.record, command.folder);
    if (command.video) video = write_video(*recording, *command.video);
  } else {
    result = play(command, *make_environment(config), actor.act);
  }
  const bool has_goal = find_task(config.task).has_goal;

  const double return_mean = mean(result.returns), length_mean = mean(result.lengths);
  const double return_std = standard_deviation(result.returns);
  const auto episodes = static_cast<int>(result.returns.size());

  if (command.json) {
    Json object = {{"run", command.folder},         {"task", config.task},
                   {"algorithm", config.algorithm}, {"seed", command.seed},
                   {"episodes", episodes},          {"return_mean", return_mean},
                   {"return_std", return_std},      {"length_mean", length_mean}};
    if (has_goal) object["successes"] = result.successes;
    if (has_goal) object["success_rate"] = static_cast<double>(result.successes) / episodes;
    object["seconds"] = result.seconds;
    if (actor.state) object["unfinished_at_epoch"] = actor.state->epochs_done();
    if (command.record) object["replay"] = *command.record;
    if (command.record) object["critics"] = recording->critics;
    if (video) object["video"] = video->written.string();
    if (video) object["frames"] = video->frames;
    fmt::print("{}\n", to_line(object));
    return;
  }

  fmt::print("{} on {}, {} episodes of {}\n", config.algorithm, config.task, episodes,
             command.folder);
  if (actor.state) {
    fmt::print("  the run is not finished: this is its last checkpoint, epoch {} of {}\n",
               actor.state->epochs_done(), config.train.epochs);
  }
  fmt::print("  return   {:.2f} (standard deviation {:.2f})\n", return_mean, return_std);
  fmt::print("  length   {:.1f} steps\n", length_mean);
  if (has_goal) fmt::print("  goal     reached in {} of {}\n", result.successes, episodes);
  if (command.record) {
    fmt::print("  replay   {}: {} episodes, critics: {}\n", *command.record,
               recording->episodes.size(), recording->critics);
  }
  if (video) {
    fmt::print("  video    {}: {} frames, {:.1f} s{}{}\n", video->written.string(), video->frames,
               video->seconds, video->remark.empty() ? "" : "; ", video->remark);
  }
  if (recording && !recording->complete) {
    fmt::print("  only the first {} of {} episodes are recorded\n", recording->episodes.size(),
               episodes);
  }
}

}  // namespace ovde::cli
