// ovde eval: plays a finished run's policy and prints what it got.
#include <atomic>
#include <limits>

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

namespace ovde::cli {

namespace {

EvaluationResult play(const EvalCommand& command, const Config& config) {
  const auto env = make_environment(config);
  Policy policy = Policy::load(finished_policy(command.folder).string());
  constexpr auto kAll = std::numeric_limits<std::int64_t>::max();
  const auto act = [&](auto observation, auto action) { policy.act_unit(observation, action); };
  Evaluation evaluation(*env, act, Random(command.seed, Stream::evaluation_seeds), kAll,
                        command.episodes);
  const std::atomic<bool> never{false};
  evaluation.advance(kAll, never);
  return evaluation.result();
}

}  // namespace

void run(const EvalCommand& command) {
  check_run_folder(command.folder);
  const Config config = read_config(command.folder);
  const bool has_goal = find_task(config.task).has_goal;
  const EvaluationResult result = play(command, config);

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
    fmt::print("{}\n", object.line());
    return;
  }

  fmt::print("{} on {}, {} episodes of {}\n", config.algorithm, config.task, episodes,
             command.folder);
  fmt::print("  return   {:.2f} (standard deviation {:.2f})\n", return_mean, return_std);
  fmt::print("  length   {:.1f} steps\n", length_mean);
  if (has_goal) fmt::print("  goal     reached in {} of {}\n", result.successes, episodes);
}

}  // namespace ovde::cli
