// ovde eval: plays a run's policy and prints what it got.
#include <atomic>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include <ovde/env.h>
#include <ovde/policy.h>
#include "cli/commands.h"
#include "config/build.h"
#include "io/json.h"
#include "run/run_folder.h"
#include "run/run_status.h"
#include "stats/statistics.h"
#include "train/evaluation.h"
#include "train/latest_state.h"

namespace ovde::cli {

namespace {

// What acts: a policy file, or an agent as its run's last checkpoint has it.
struct Actor {
  std::filesystem::path run;
  Act act;
  std::optional<int> unfinished_at = {};  // epochs that the agent of a checkpoint has had
};

Actor find_actor(const std::filesystem::path& path) {
  try {
    const PolicyOfRun found = policy_of_run(path);
    const auto policy = std::make_shared<Policy>(Policy::load(found.file.string()));
    return {found.run,
            [policy](auto observation, auto action) { policy->act_unit(observation, action); }};
  } catch (const UnfinishedRun&) {
    const std::shared_ptr<EpochLoop> state = read_latest_state(path);
    if (!state) throw;
    return {path,
            [state](auto observation, auto action) { state->agent().act(observation, action); },
            state->epochs_done()};
  }
}

EvaluationResult play(const EvalCommand& command, const Config& config, const Act& act) {
  const auto env = make_environment(config);
  constexpr auto kAll = std::numeric_limits<std::int64_t>::max();
  Evaluation evaluation(*env, act, Random(command.seed, Stream::evaluation_seeds), kAll,
                        command.episodes);
  const std::atomic<bool> never{false};
  evaluation.advance(kAll, never);
  return evaluation.result();
}

}  // namespace

void run(const EvalCommand& command) {
  const Actor actor = find_actor(command.folder);
  const Config config = read_config(actor.run);
  const EvaluationResult result = play(command, config, actor.act);
  const bool has_goal = find_task(config.task).has_goal;

  const double return_mean = mean(result.returns), length_mean = mean(result.lengths);
  const double return_std = standard_deviation(result.returns);
  const auto episodes = static_cast<int>(result.returns.size());

  if (command.json) {
    JsonObject object;
    object.add("run", command.folder)
        .add("task", config.task)
        .add("algorithm", config.algorithm)
        .add("seed", command.seed)
        .add("episodes", episodes)
        .add("return_mean", return_mean)
        .add("return_std", return_std)
        .add("length_mean", length_mean);
    if (has_goal) object.add("successes", result.successes);
    if (has_goal) object.add("success_rate", static_cast<double>(result.successes) / episodes);
    object.add("seconds", result.seconds);
    if (actor.unfinished_at) object.add("unfinished_at_epoch", *actor.unfinished_at);
    fmt::print("{}\n", object.line());
    return;
  }

  fmt::print("{} on {}, {} episodes of {}\n", config.algorithm, config.task, episodes,
             command.folder);
  if (actor.unfinished_at) {
    fmt::print("  the run is not finished: its last checkpoint, epoch {} of {}\n",
               *actor.unfinished_at, config.train.epochs);
  }
  fmt::print("  return   {:.2f} (standard deviation {:.2f})\n", return_mean, return_std);
  fmt::print("  length   {:.1f} steps\n", length_mean);
  if (has_goal) fmt::print("  goal     reached in {} of {}\n", result.successes, episodes);
}

}  // namespace ovde::cli
