// ovde eval: plays episodes with the policy of a run, prints the results and records them.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <ovde/env.h>
#include <ovde/policy.h>
#include "cli/commands.h"
#include "cli/console/text.h"
#include "config/build.h"
#include "io/columns.h"
#include "io/files.h"
#include "io/json.h"
#include "policy/export.h"
#include "run/progress_csv.h"
#include "run/recording.h"
#include "run/run_folder.h"
#include "run/run_status.h"
#include "stats/statistics.h"
#include "study/report/page.h"
#include "study/report/replay_page.h"
#include "study/report/video.h"
#include "train/agent_run.h"
#include "train/episode_recording.h"
#include "train/evaluation.h"

namespace ovde::cli {

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
  std::string source;  // names them, or says why there are none
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
// otherwise, for the last policy, those of the last checkpoint.
Critic find_critic(const FoundActor& actor, const Config& config) {
  const auto from_checkpoint = [&](const std::shared_ptr<EpochLoop>& state) {
    std::string source = fmt::format("checkpoint of epoch {}", state->epochs_done());
    if (!actor.state && state->epochs_done() != config.train.epochs)
      source += fmt::format(", while the policy is of epoch {}", config.train.epochs);
    return judged_by({state, &state->agent()}, source);
  };
  if (actor.state) return from_checkpoint(actor.state);
  const bool is_last = actor.file.filename() == kPolicyFile;
  for (const int epoch : recorded_epochs(actor.run)) {
    if (is_last ? epoch == config.train.epochs - 1
                : fs::equivalent(actor.file, network_file(actor.run, epoch)))
      return judged_by(
          read_networks(actor.run, epoch, config),
          is_last ? "networks of the last epoch" : fmt::format("networks of epoch {}", epoch));
  }
  if (!is_last) return {{}, fmt::format("none: {} contains no critics", actor.file.string())};
  if (const std::shared_ptr<EpochLoop> state = read_latest_state(actor.run))
    return from_checkpoint(state);
  return {{}, "none: the run has no checkpoint (checkpoint.final)"};
}

EvaluationResult play(const EvalCommand& command, Env& env, const Act& act) {
  Evaluation evaluation(env, act, Random(command.seed, Stream::evaluation_seeds), kAllSteps,
                        command.episodes);
  evaluation.advance(kAllSteps, kNever);
  return evaluation.result();
}

void write_recording(const EpisodeRecording& recording, const fs::path& file,
                     const std::string& run) {
  const std::string json = to_json(recording);
  const std::string title = fmt::format("{} on {}", recording.algorithm, recording.task);
  write_file_atomically(
      file, file.extension() == ".html" ? replay_page(title, json, run_subject(run)) : json);
}

// The episodes of one agent.
struct Played {
  fs::path folder;
  std::optional<std::uint64_t> agent;  // its seed, in a population
  Config config;
  EvaluationResult result = {};
  std::optional<int> unfinished_at = {};  // epochs of the checkpoint
  std::optional<EpisodeRecording> recording = {};
  std::optional<Video> video = {};

  std::int64_t episodes() const { return std::ssize(result.returns); }
  bool has_goal() const { return find_task(config.task).has_goal; }
  double return_mean() const { return mean(result.returns); }
  double length_mean() const { return mean(result.lengths); }
  double return_std() const {  // NaN: one episode has none
    return episodes() > 1 ? standard_deviation(result.returns) : EpochRow::kNone;
  }
};

Played play_agent(const EvalCommand& command, const ChosenAgent& agent) {
  const FoundActor actor = find_actor(agent.folder);
  Played played{.folder = agent.folder, .agent = agent.seed, .config = read_config(actor.run)};
  if (actor.state) played.unfinished_at = actor.state->epochs_done();
  if (!command.record && !command.video) {
    played.result = play(command, *make_environment(played.config), actor.act);
    return played;
  }
  try {
    if (command.record) check_new_file(*command.record);
    if (command.video) check_new_file(*command.video);
  } catch (const OutputPathError& error) {
    throw InputError(error.what());  // without the hint at --out
  }
  const Critic critic = find_critic(actor, played.config);
  RecordingEnv env(played.config, critic.judge);
  played.result = play(command, env, actor.act);
  played.recording = env.take();
  played.recording->source = actor.source;
  played.recording->critics = critic.source;
  if (command.record) write_recording(*played.recording, *command.record, agent.folder.string());
  if (command.video) played.video = write_video(*played.recording, *command.video);
  return played;
}

std::string json_line(const EvalCommand& command, const Played& played) {
  const auto episodes = static_cast<int>(played.episodes());
  Json object = {{"run", played.folder.string()},
                 {"task", played.config.task},
                 {"algorithm", played.config.algorithm},
                 {"seed", command.seed},
                 {"episodes", episodes},
                 {"return_mean", played.return_mean()},
                 {"return_std", played.return_std()},
                 {"length_mean", played.length_mean()}};
  if (played.has_goal()) {
    object["successes"] = played.result.successes;
    object["success_rate"] = static_cast<double>(played.result.successes) / episodes;
  }
  object["seconds"] = played.result.seconds;
  if (played.agent) object["agent"] = *played.agent;
  if (played.unfinished_at) object["unfinished_at_epoch"] = *played.unfinished_at;
  if (command.record) object["replay"] = *command.record;
  if (command.record) object["critics"] = played.recording->critics;
  if (played.video) object["video"] = played.video->written.string();
  if (played.video) object["frames"] = played.video->frames;
  return to_line(object);
}

void print_result(const EvalCommand& command, const Played& played) {
  print("{} on {}, {} of {}\n", played.config.algorithm, played.config.task,
        plural(played.episodes(), "episode"), printable(played.folder.string()));
  if (played.unfinished_at) {
    print("  the run is not finished: this is its last checkpoint, epoch {} of {}\n",
          *played.unfinished_at, played.config.train.epochs);
  }
  print("  return   {:.2f}", played.return_mean());
  if (played.episodes() > 1) print(" (standard deviation {:.2f})", played.return_std());
  print("\n  length   {:.1f} steps\n", played.length_mean());
  if (played.has_goal())
    print("  goal     reached in {} of {}\n", played.result.successes, played.episodes());
  if (command.record) {
    print("  replay   {}: {}, critics: {}\n", *command.record,
          plural(std::ssize(played.recording->episodes), "episode"), played.recording->critics);
  }
  if (const auto& video = played.video) {
    print("  video    {}: {} frames, {:.1f} s{}{}\n", video->written.string(), video->frames,
          video->seconds, video->remark.empty() ? "" : "; ", video->remark);
  }
  if (played.recording && !played.recording->complete) {
    print("  only the first {} of {} episodes are recorded\n", played.recording->episodes.size(),
          played.episodes());
  }
}

// A line for each agent, and the mean over the agents.
void print_table(const std::string& population, const std::vector<Played>& agents) {
  const Played& first = agents.front();
  const bool goal = first.has_goal();
  print("{} on {}, {} of each of {} agents of {}\n", first.config.algorithm, first.config.task,
        plural(first.episodes(), "episode"), agents.size(), printable(population));
  std::vector<std::vector<std::string>> lines = {{"agent", "return", "deviation", "length"}};
  if (goal) lines[0].push_back("goal");
  std::vector<double> returns;
  bool unfinished = false;
  for (const Played& played : agents) {
    returns.push_back(played.return_mean());
    unfinished |= played.unfinished_at.has_value();
    lines.push_back({fmt::format("seed {}{}", *played.agent, played.unfinished_at ? " *" : ""),
                     fmt::format("{:.2f}", played.return_mean()),
                     played.episodes() > 1 ? fmt::format("{:.2f}", played.return_std()) : "-",
                     fmt::format("{:.1f}", played.length_mean())});
    if (goal)
      lines.back().push_back(fmt::format("{}/{}", played.result.successes, played.episodes()));
  }
  print_text(in_columns(lines, 1));
  print("mean of the agents {:.2f} (standard deviation {:.2f})\n", mean(returns),
        standard_deviation(returns));
  if (unfinished) print("* not finished: its last checkpoint\n");
}

}  // namespace

std::vector<ChosenAgent> choose_agents(const fs::path& path,
                                       const std::optional<std::string>& asked,
                                       const std::string& standard) {
  const auto population =
      is_folder(path) && holds_population(path) ? read_population(path) : std::nullopt;
  if (!population) {
    if (asked) throw InputError(fmt::format("--agent: {} is not a population", path.string()));
    return {{path, std::nullopt}};
  }
  std::vector<ChosenAgent> agents;
  std::vector<std::pair<double, std::size_t>> scores;
  for (const std::uint64_t seed : population->seeds) {
    const auto folder = find_agent(path, seed);
    if (!folder) continue;
    const double score = summarise(read_progress(*folder)).score;
    if (!std::isnan(score)) scores.emplace_back(score, agents.size());
    agents.push_back({*folder, seed});
  }
  const std::string which = asked.value_or(standard);
  if (which == "all" && !agents.empty()) return agents;
  if (which == "best" || which == "median") {
    if (scores.empty()) throw InputError(fmt::format("no agent of {} has a score", path.string()));
    // the first seed wins a tie
    std::ranges::stable_sort(scores, std::greater(), [](const auto& each) { return each.first; });
    return {agents[scores[which == "best" ? 0 : scores.size() / 2].second]};
  }
  std::vector<std::string> seeds;
  for (const ChosenAgent& agent : agents) {
    seeds.push_back(std::to_string(*agent.seed));
    if (seeds.back() == which) return {agent};
  }
  throw InputError(
      fmt::format("--agent {}: must be best, median, all or one of the seeds of {}: {}", which,
                  path.string(), fmt::join(seeds, ", ")));
}

void run(const EvalCommand& command) {
  const auto agents = choose_agents(command.folder, command.agent, "all");
  if (agents.size() > 1 && (command.record || command.video))
    throw InputError("--record and --video need one agent, such as --agent best");
  std::vector<Played> played;
  for (const ChosenAgent& agent : agents) played.push_back(play_agent(command, agent));
  if (command.json) {
    for (const Played& each : played) fmt::print("{}\n", json_line(command, each));
  } else if (played.size() > 1) {
    print_table(command.folder, played);
  } else {
    print_result(command, played.front());
  }
}

}  // namespace ovde::cli
