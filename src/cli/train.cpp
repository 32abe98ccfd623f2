// ovde train: from what was typed to a request for the trainer.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <ovde/error.h>
#include "cli/commands.h"
#include "cli/console/train_bar.h"
#include "cli/signals.h"
#include "config/setting_checks.h"
#include "io/seeds.h"
#include "io/shell.h"
#include "train/trainer.h"

namespace ovde::cli {

namespace {

// "3", or "0-9": the seeds of a population, from the first to the last.
std::vector<std::uint64_t> parse_seeds(const std::string& text) {
  std::vector<std::uint64_t> seeds = seed_range(text);
  if (seeds.empty()) {
    throw InputError(fmt::format(
        "--seeds {}: must be a seed, or a range A-B with A <= B such as 0-9, of at most {} seeds "
        "from 0 to {}",
        text, kMostSeeds, kLargestSeed));
  }
  return seeds;
}

// In order of precedence: the file, the flags that stand for keys, then --set.
std::vector<Setting> collect_settings(const TrainCommand& command) {
  std::vector<Setting> settings;
  if (command.config) settings = read_settings(*command.config);
  if (command.task) settings.push_back({"run.task", *command.task, "--task"});
  if (command.algorithm) settings.push_back({"run.algorithm", *command.algorithm, "--algo"});
  if (command.seed) settings.push_back({"run.seed", parse_value(*command.seed), "--seed"});
  if (command.epochs)
    settings.push_back({"train.epochs", parse_value(*command.epochs), "--epochs"});
  for (const std::string& assignment : command.set) {
    settings.push_back(parse_assignment(assignment, "--set"));
    if (command.seeds && settings.back().key == "run.seed")
      throw InputError(
          fmt::format("--set {} and --seeds {} exclude each other", assignment, *command.seeds));
  }

  for (const Setting& setting : settings) check_form(setting);
  const auto given = [&](const char* key) {
    return std::ranges::find(settings, key, &Setting::key) != settings.end();
  };
  if (!given("run.task")) throw InputError("no task given: --task ID (ovde list tasks)");
  if (!given("run.algorithm"))
    throw InputError("no algorithm given: --algo NAME (ovde list algos)");
  return settings;
}

Workers workers_for(const TrainCommand& command) {
  return {.threads = thread_count(command.threads),
          .stop = &stop_asked(),
          .gpu = device_of(command.device, "--device")};
}

void train_to_end(const RunPlan& plan, const Workers& workers) {
  const Signals signals;
  if (train(plan, workers, *console_progress(stdout, console_style(stdout)))) return;
  throw Interrupted(fmt::format("interrupted; the state is saved: ovde train --resume {}",
                                shell_word(plan.folder.string())));
}

}  // namespace

void run(const TrainCommand& command) {
  const Workers workers = workers_for(command);
  if (command.resume)
    return train_to_end(plan_rest_of_run(*command.resume, command.typed), workers);

  const Config config = resolve_config(collect_settings(command));
  const std::string seeds = command.seeds.value_or(std::to_string(config.seed));
  const std::string folder =
      command.out.value_or(fmt::format("runs/{}-{}-{}", config.task, config.algorithm, seeds));
  train_to_end(plan_new_run(config, command.seeds ? parse_seeds(seeds) : std::vector{config.seed},
                            folder, command.typed),
               workers);
}

}  // namespace ovde::cli
