// ovde train: from what was typed to a request for the trainer.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/field.h"
#include "cli/commands.h"
#include "cli/console/train_bar.h"
#include "cli/served_beside.h"
#include "cli/signals.h"
#include "cli/words.h"
#include "config/setting_checks.h"
#include "config/stored_config.h"
#include "config/synonyms.h"
#include "io/seeds.h"
#include "io/shell.h"
#include "run/run_folder.h"
#include "train/trainer.h"

namespace ovde::cli {

namespace {

// "3", "0-9" or "0,1,2": the seeds of a population.
std::vector<std::uint64_t> parse_seeds(const std::string& text) {
  std::vector<std::uint64_t> seeds = seed_range(text);
  if (seeds.empty()) {
    throw InputError(fmt::format(
        "--seeds {}: must be a seed, a range A-B with A <= B such as 0-9, or a list such as 0,1,2, "
        "of at most {} seeds from 0 to {}",
        text, kMostSeeds, kLargestSeed));
  }
  return seeds;
}

// The file's; where it is a run's own and the flags name another task or algorithm, without what
// those of the file had brought.
std::vector<Setting> settings_of_file(const TrainCommand& command) {
  std::vector<Setting> settings = read_settings(*command.config);
  const bool stored = is_stored_config(*command.config);
  const auto changes = [&](const std::optional<std::string>& flag, const char* key) {
    const auto named = std::ranges::find(settings, key, &Setting::key);
    return flag && named != settings.end() && named->value != OptionValue(*flag);
  };
  const bool another =
      changes(command.task, "run.task") || changes(command.algorithm, "run.algorithm");
  const bool derive_again = another || command.epochs || command.steps;
  if (!stored) return settings;
  return derive_again ? asked_for(settings) : in_full(std::move(settings));
}

// In order of precedence: the file, the flags that stand for keys, then --set.
std::vector<Setting> collect_settings(const TrainCommand& command) {
  std::vector<Setting> settings;
  if (command.config) settings = settings_of_file(command);
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

  for (Setting& setting : settings) {
    refuse_option_words(setting);
    setting = translated(std::move(setting));
    check_form(setting);
  }
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

// The epochs that it takes for so many environment steps, with the warm-up.
int epochs_for(const std::string& steps, const TrainConfig& train) {
  Option option = number("--steps", "environment steps", 1, 1e15, 1.0);
  option.integer = true;
  const OptionValue value = parse_value(steps);
  check_option(option, value, "");
  const double after_warm_up = std::get<double>(value) - train.warmup_steps;
  const double epochs = std::ceil(after_warm_up / train.steps_per_epoch);
  if (epochs < 1) {
    throw InputError(
        fmt::format("--steps {}: the warm-up alone has {} (train.warmup_steps), and an epoch {}",
                    steps, train.warmup_steps, train.steps_per_epoch));
  }
  return static_cast<int>(std::min(epochs, 1e7));
}

Config resolve_run(const TrainCommand& command) {
  std::vector<Setting> settings = collect_settings(command);
  if (command.steps) {
    const int epochs = epochs_for(*command.steps, resolve_config(settings).train);
    settings.push_back({"train.epochs", static_cast<double>(epochs), "--steps"});
  }
  return resolve_config(settings);
}

// With characters that every file system and shell takes as they are.
std::string default_folder(const Config& config, std::string seeds) {
  std::string name = fmt::format("{}-{}-{}", config.task, config.algorithm, seeds);
  std::ranges::replace(name, ':', '-');
  std::ranges::replace(name, ',', '_');
  return "runs/" + name;
}

RunPlan plan_to_resume(const TrainCommand& command) {
  if (!command.epochs && !command.steps) return plan_rest_of_run(*command.resume, command.typed);
  if (command.steps) {
    const auto there = read_runs(*command.resume);
    if (!there) return plan_rest_of_run(*command.resume, command.typed);  // which says why not
    return plan_rest_of_run(*command.resume, command.typed,
                            epochs_for(*command.steps, there->config.train));
  }
  Option option = number("--epochs", "epochs", 1, 1e7, 1.0);
  option.integer = true;
  const OptionValue value = parse_value(*command.epochs);
  check_option(option, value, "");
  return plan_rest_of_run(*command.resume, command.typed,
                          static_cast<int>(std::get<double>(value)));
}

void train_to_end(const RunPlan& plan, const Workers& workers, bool serve) {
  std::optional<ServedBeside> page;
  if (serve) page.emplace(plan.folder);
  const Signals signals;
  if (train(plan, workers, *console_progress(stdout, console_style(stdout)))) return;
  throw Interrupted(fmt::format("interrupted; the state is saved: ovde train --resume {}",
                                shell_word(plan.folder.string())));
}

}  // namespace

void run(const TrainCommand& command) {
  for (const std::string& note : command.notes) std::fprintf(stderr, "ovde: %s\n", note.c_str());
  const Workers workers = workers_for(command);
  if (command.resume) return train_to_end(plan_to_resume(command), workers, command.serve);

  const Config config = resolve_run(command);
  const std::string seeds = command.seeds.value_or(std::to_string(config.seed));
  const std::filesystem::path folder = command.out ? std::filesystem::path(*command.out)
                                                   : unused_folder(default_folder(config, seeds));
  train_to_end(plan_new_run(config, command.seeds ? parse_seeds(seeds) : std::vector{config.seed},
                            folder, command.typed),
               workers, command.serve);
}

}  // namespace ovde::cli
