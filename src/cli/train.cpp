// ovde train: turns the options into a configuration and trains it.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include <ovde/error.h>
#include <ovde/train.h>
#include "base/field.h"
#include "cli/commands.h"
#include "cli/console/text.h"
#include "cli/console/train_bar.h"
#include "cli/option_synonyms.h"
#include "cli/signals.h"
#include "config/config_keys.h"
#include "config/stored_config.h"
#include "config/synonyms.h"
#include "env/registry.h"
#include "io/seeds.h"
#include "run/run_folder.h"
#include "train/trainer.h"

namespace ovde::cli {

namespace {

constexpr const char* kSet = "--set";  // where a setting was given

std::vector<std::uint64_t> parse_seeds(const std::string& text) {
  std::vector<std::uint64_t> seeds = seed_range(text);
  if (seeds.empty()) {
    throw InputError(fmt::format(
        "--seeds {}: must be a seed, a range A-B with A <= B such as 0-9, or a list such as 0,1,2, "
        "with at most {} seeds from 0 to {}",
        text, kMostSeeds, kLargestSeed));
  }
  return seeds;
}

// The settings of --config. Where options change the task, the algorithm or the length of a stored
// run, these are the settings that its user chose; the others are derived again.
std::vector<Setting> settings_of_file(const TrainCommand& command) {
  std::vector<Setting> settings = read_settings(*command.config);
  if (!is_stored_config(*command.config)) return settings;
  if (std::ranges::find(settings, "population.seeds", &Setting::key) != settings.end()) {
    const fs::path file = *command.config;
    const auto seeds = parse_population(settings, file.string()).seeds;
    throw InputError(fmt::format(
        "{} is the file of a population; name the config.toml of an agent, such as {}",
        file.string(), (agent_folder(file.parent_path(), seeds, 0) / "config.toml").string()));
  }
  use_own_task_file(*command.config, settings);
  const auto changes = [&](const std::optional<std::string>& flag, const char* key) {
    const auto named = std::ranges::find(settings, key, &Setting::key);
    return flag && named != settings.end() && named->value != OptionValue(*flag);
  };
  const bool derive_again = changes(command.task, "run.task") ||
                            changes(command.algorithm, "run.algorithm") || command.epochs ||
                            command.steps;
  settings = derive_again ? asked_for(settings) : in_full(std::move(settings));
  if (command.task)  // a task file as it is now
    std::erase_if(settings, [](const Setting& each) { return each.key == kTaskDigest; });
  return settings;
}

// An option that is short for a key is not given together with --set of that key.
void check_given_once(const TrainCommand& command, const Setting& set) {
  const std::tuple<const char*, const char*, const std::optional<std::string>&> options[] = {
      {"--task", "run.task", command.task},         {"--algo", "run.algorithm", command.algorithm},
      {"--seed", "run.seed", command.seed},         {"--seeds", "run.seed", command.seeds},
      {"--epochs", "train.epochs", command.epochs}, {"--steps", "train.epochs", command.steps}};
  for (const auto& [option, key, value] : options) {
    if (value && key == set.key)
      throw InputError(fmt::format("--set {}={} and {} {} exclude each other", set.key,
                                   to_string(set.value), option, *value));
  }
}

bool is_given(const std::vector<Setting>& settings, const char* key) {
  return std::ranges::find(settings, key, &Setting::key) != settings.end();
}

// Later settings override earlier ones: the file, the options that are short for keys, then --set.
std::vector<Setting> collect_settings(const TrainCommand& command) {
  std::vector<Setting> settings;
  if (command.config) settings = settings_of_file(command);
  if (command.task) check_task_name(*command.task);
  if (command.task) settings.push_back({"run.task", *command.task, "--task"});
  if (command.algorithm) settings.push_back({"run.algorithm", *command.algorithm, "--algo"});
  if (command.seed) settings.push_back({"run.seed", parse_value(*command.seed), "--seed"});
  if (command.epochs)
    settings.push_back({"train.epochs", parse_value(*command.epochs), "--epochs"});
  for (const std::string& assignment : command.set)
    settings.push_back(parse_assignment(assignment, kSet));

  for (Setting& setting : settings) {
    refuse_option_synonyms(setting);
    setting = translated(std::move(setting));
    check_form(setting);
    if (setting.where == kSet) check_given_once(command, setting);
  }
  if (!is_given(settings, "run.task"))
    throw InputError("no task given: --task ID (ovde list tasks)");
  return settings;
}

Workers workers_for(const TrainCommand& command) {
  return {.threads = thread_count(command.threads),
          .stop = &stop_asked(),
          .gpu = device_of(command.device, "--device")};
}

// A whole number from 1 to `most`.
double parse_count(const char* option_name, const std::string& text, double most) {
  Option option = number(option_name, "", 1, most, 1.0);
  option.integer = true;
  const OptionValue value = parse_value(text);
  check_option(option, value, "");
  return std::get<double>(value);
}

int epochs_for(const std::string& steps, const TrainConfig& train) {
  return epochs_for_steps(parse_count("--steps", steps, 1e15), train, "--steps " + steps);
}

Config resolve_run(const TrainCommand& command) {
  std::vector<Setting> settings = collect_settings(command);
  // docs/train.md says why
  const bool is_standard = !is_given(settings, "run.algorithm");
  if (is_standard) settings.push_back({"run.algorithm", Training().algorithm, ""});
  if (command.steps) {
    const int epochs = epochs_for(*command.steps, resolve_config(settings).train);
    settings.push_back({"train.epochs", static_cast<double>(epochs), "--steps"});
  }
  Config config = resolve_config(settings);
  if (is_standard) {
    std::fprintf(stderr, "ovde: no --algo given: training %s (ovde list algos)\n",
                 config.algorithm.c_str());
  }
  return config;
}

// Without characters that a shell or a file system treats specially.
std::string default_folder(const Config& config, std::string seeds) {
  const std::string task =
      is_task_file(config.task) ? fs::path(config.task).stem().string() : config.task;
  std::string name = fmt::format("{}-{}-{}", task, config.algorithm, seeds);
  std::ranges::replace(name, ':', '-');
  std::ranges::replace(name, ',', '_');
  return "runs/" + name;
}

RunPlan plan_to_resume(const TrainCommand& command) {
  std::optional<int> epochs;
  if (command.epochs) epochs = static_cast<int>(parse_count("--epochs", *command.epochs, 1e7));
  if (command.steps) {
    if (const auto runs = read_runs(*command.resume))
      epochs = epochs_for(*command.steps, runs->config.train);
  }
  return plan_rest_of_run(*command.resume, command.typed, epochs);
}

void train_to_end(const RunPlan& plan, const Workers& workers, bool serve) {
  std::optional<LivePageProcess> page;
  if (serve) page.emplace(plan.folder);
  const Signals signals;
  if (train(plan, workers, *console_progress(stdout, console_style(stdout)))) return;
  throw Interrupted("interrupted; the state is saved: " + resume_command(plan.folder));
}

}  // namespace

void run(const TrainCommand& typed) {
  TrainCommand command = typed;
  if (command.algorithm) command.algorithm = algorithm_name(*command.algorithm);
  if (command.n_seeds)
    command.seeds = *command.n_seeds == 1 ? "0" : fmt::format("0-{}", *command.n_seeds - 1);
  const bool one_number =
      typed.seeds && typed.seeds->find_first_not_of("0123456789") == std::string::npos;
  if (one_number) {
    command.notes.push_back(
        fmt::format("--seeds {0} is the one seed {0}; --n-seeds N trains N agents", *typed.seeds));
  }
  for (const std::string& note : command.notes)
    std::fprintf(stderr, "ovde: %s\n", printable(note).c_str());
  const Workers workers = workers_for(command);
  if (command.resume) return train_to_end(plan_to_resume(command), workers, command.serve);

  const Config config = resolve_run(command);
  const std::string seeds = command.seeds.value_or(std::to_string(config.seed));
  const fs::path folder =
      command.out ? fs::path(*command.out) : unused_folder(default_folder(config, seeds));
  train_to_end(plan_new_run(config, command.seeds ? parse_seeds(seeds) : std::vector{config.seed},
                            folder, command.typed),
               workers, command.serve);
}

}  // namespace ovde::cli
