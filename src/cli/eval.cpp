// ovde eval: plays a finished run's policy and prints what it got.
#include <fmt/format.h>

#include <ovde/env.h>
#include "cli/commands.h"
#include "io/json.h"
#include "run/run_folder.h"
#include "stats/statistics.h"
#include "train/evaluation.h"

namespace ovde::cli {

void run(const EvalCommand& command) {
  check_run_folder(command.folder);
  const Config config = read_config(command.folder);
  const bool has_goal = find_task(config.task).has_goal;
  const EvaluationResult result = evaluate_run(command.folder, command.episodes, command.seed);

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
