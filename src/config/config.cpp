#include "config/config.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include <ovde/env.h>
#include <ovde/error.h>
#include "agent/agent.h"
#include "agent/discrete/action_grid.h"
#include "agent/explore/explorer.h"
#include "config/config_keys.h"
#include "config/synonyms.h"
#include "config/unread_keys.h"
#include "env/registry.h"
#include "io/files.h"

namespace ovde {

namespace {

constexpr std::size_t kLargestFile = 4 << 20;
constexpr int kMostOutputs = 1 << 20;  // a policy file holds no more

// The last setting of the key; nullptr where there is none.
const Setting* last(const std::vector<Setting>& settings, const std::string& key) {
  const auto found = std::find_if(settings.rbegin(), settings.rend(),
                                  [&](const Setting& s) { return s.key == key; });
  return found == settings.rend() ? nullptr : &*found;
}

// The task or algorithm that run.<what> names. An error of `find` is reported with the place where
// the name was given.
template <typename Find>
const auto& find_named(const std::vector<Setting>& settings, const std::string& what, Find find) {
  const Setting* setting = last(settings, "run." + what);
  if (setting == nullptr) throw InputError(fmt::format("no {0} given (run.{0})", what));
  check_setting(*setting, config_tables());
  try {
    return find(std::get<std::string>(setting->value));
  } catch (const InputError& error) {
    refuse_setting(setting->where, error.what());
  }
}

// Values of the task and its preset; every value that a user gives is stronger.
std::vector<Setting> task_presets(const Task& task, const std::string& task_id,
                                  const Algorithm& algorithm) {
  std::vector<Setting> all;
  for (const auto& [key, value] : task.brings) {
    if (concerns(algorithm, key)) all.push_back({key, value, ""});
  }
  const auto colon = task_id.find(':');
  for (const TaskPreset& preset : task.presets) {
    if (colon == std::string::npos || preset.name != task_id.substr(colon + 1)) continue;
    for (const auto& [name, value] : preset.values) all.push_back({"task." + name, value, ""});
  }
  return all;
}

// A stand-in for a task that another program registered: enough to read the configuration of its
// run, to report on the run and to export its policy.
Task foreign_task(const std::string& id, const std::vector<Setting>& settings) {
  Task task;
  task.name = id.substr(0, id.find(':'));
  for (const Setting& setting : settings) {
    constexpr std::string_view table = "task.";
    if (!setting.key.starts_with(table) || setting.key == "task.horizon" ||
        setting.key == "task.history")
      continue;
    Option option;
    option.name = setting.key.substr(table.size());
    option.default_value = setting.value;
    task.options.push_back(std::move(option));
  }
  task.make = [name = task.name](const OptionValues&) -> std::unique_ptr<Env> {
    throw InputError(fmt::format(
        "task {} is not one of this program's: use the program that registers it", name));
  };
  task.map = [](const OptionValues&) { return StateMap{}; };  // it may have recorded visits
  return task;
}

// Builds a configuration; remembers which keys were given, and where.
class Resolver {
 public:
  Resolver(const Task& task, const Algorithm& algorithm)
      : task_(task), algorithm_(algorithm), tables_(config_tables(task, algorithm)) {
    for (const ConfigTable& table : tables_) {
      for (const ConfigKey& key : table.keys) key.set(config_, key.option.default_value);
    }
    set_presets(algorithm, config_);
  }

  void apply(const Setting& setting) {
    check_setting(setting, tables_).set(config_, setting.value);
    config_.places[setting.key] = setting.where;
  }

  // Defaults and presets are applied; the user's settings follow.
  void end_presets() { presets_ = config_; }

  // Defaults that follow from other keys (docs/config.md). A stored configuration that is older
  // than a key gets the value that its run had.
  void derive(bool is_new) {
    TrainConfig& train = config_.train;
    const int horizon = config_.horizon;
    const bool tied = task_.steps_per_epoch == 0 || task_.steps_per_epoch == task_.horizon;
    if (!given("train.steps_per_epoch"))
      train.steps_per_epoch = tied ? horizon : task_.steps_per_epoch;

    const int n = train.steps_per_epoch;
    if (!given("train.warmup_steps")) train.warmup_steps = std::max(10 * n, train.batch);
    if (!given("train.eval_steps")) derive_evaluation(is_new && !is_built_in(task_));
    if (!given("train.score_eval_epochs")) train.score_eval_epochs = train.eval_epochs;
    if (!given("train.learning_rate_epochs") && train.adam.learning_rate_end > 0)
      train.learning_rate_epochs = train.epochs;
    if (!given("train.replay")) train.replay = n <= 500 ? 100'000 : 1'000'000;

    // the critics of the published code
    if (is_new ? algorithm_.distributional && !has_grid() : is_implicit(config_.critic.head)) {
      if (!given("network.init")) config_.network.init = Initialisation::torch;
      if (!given("critic.norm")) config_.critic.norm = true;
    }

    if (has_grid() && !given("ids.bins"))
      config_.ids.bins = ActionGrid::standard_bins(action_dimensions(), config_.ids.max_actions);

    if (!observes_positions()) return;
    if (!given("record.visits")) config_.record.visits = true;
    if (!given("record.networks")) config_.record.networks = saved_by_default(train.epochs);
  }

  // Refuses values that are in range but do not fit each other.
  void check_together() const {
    check_critics();
    check_layers();
    if (has_grid()) check_grid();
    check_delays();
    if (config_.top.arms.empty()) refuse("top.arms", "must have at least one number");

    const TrainConfig& train = config_.train;
    if (train.eval_steps < config_.horizon)
      refuse("train.eval_steps",
             fmt::format("must be at least task.horizon = {}, for one whole episode",
                         config_.horizon));
    if (train.replay < train.batch)
      refuse("train.replay", fmt::format("must be at least train.batch = {}", train.batch));
    if (const int first = train.warmup_steps + train.steps_per_epoch; first < train.batch)
      refuse("train.batch",
             fmt::format("must be at most train.warmup_steps + train.steps_per_epoch = {}, the "
                         "transitions before the first update",
                         first));
    if (train.envs > 1 && train.n_step > 1)
      refuse("train.n_step",
             "needs train.envs = 1: the steps of an episode must follow each other");
    if (train.envs > 1 && (config_.scout.share > 0 || algorithm_.bandit))
      refuse("train.envs", algorithm_.bandit
                               ? "the bandit chooses for one episode at a time; must be 1"
                               : "the scout acts in one episode at a time; must be 1");
    if (config_.record.visits && !observes_positions())
      refuse("record.visits", fmt::format("the observations of {}{} are not positions on a map",
                                          task_.name, task_.map ? " with task.history" : ""));
  }

  // Checks of a new run alone; a stored configuration has passed them.
  void check_new_run() const {
    const int epochs = config_.train.epochs;
    for (const int epoch : config_.record.networks) {
      if (epoch >= epochs)
        refuse("record.networks",
               fmt::format("{} is not an epoch; must be from 0 to {} (train.epochs = {})", epoch,
                           epochs - 1, epochs));
    }
    check_unread_keys();
  }

  Config take() { return std::move(config_); }

 private:
  void derive_evaluation(bool own_task) {
    TrainConfig& train = config_.train;
    const int horizon = config_.horizon, n = train.steps_per_epoch;
    if (!own_task) {
      train.eval_steps = std::max((n <= 100 ? 10 : 5) * n, horizon);
      return;
    }
    // a tenth of the training's steps, in whole episodes
    if (!given("train.eval_epochs"))
      train.eval_epochs = static_cast<int>((std::int64_t{10} * horizon + n - 1) / n);
    const std::int64_t steps = std::int64_t{train.eval_epochs} * n / 10;
    train.eval_steps =
        static_cast<int>(std::clamp<std::int64_t>(steps / horizon, 1, 10'000'000 / horizon)) *
        horizon;
  }

  bool given(const std::string& key) const { return config_.places.contains(key); }
  bool observes_positions() const { return task_.map && config_.disturbances.history == 0; }
  bool has_grid() const { return algorithm_.policy == PolicyKind::greedy; }
  int action_dimensions() const { return task_.make(config_.task_options)->action_space().size(); }

  void check_critics() const {
    const CriticOptions& critic = config_.critic;
    const std::string& name = algorithm_.name;
    if (algorithm_.distributional) {
      if (critic.quantiles < 2) refuse("critic.quantiles", name + " needs at least 2");
    } else {
      const std::string one_value = name + " has one value per critic and no quantiles; ";
      if (critic.quantiles != 1) refuse("critic.quantiles", one_value + "must be 1");
      if (critic.head != CriticHead::qr) refuse("critic.head", one_value + "must be \"qr\"");
      if (config_.rnd.bonus == Bonus::discounted)
        refuse("rnd.bonus", one_value + "must be \"none\" or \"plain\"");
    }
    if (has_grid()) {
      if (critic.head != CriticHead::qr)
        refuse("critic.head", name + " has outputs for each of its actions; must be \"qr\"");
      if (critic.norm) refuse("critic.norm", name + " has no layer norm; must be false");
      if (critic.dropped > 0)
        refuse("critic.dropped", name + " has no truncated targets; must be 0");
    }
    if (config_.network.kind == NetworkKind::residual) {
      if (has_grid()) refuse("network.kind", name + " has no residual networks; must be \"mlp\"");
      if (is_implicit(critic.head))
        refuse("critic.head",
               "it has a network of its own; with network.kind = \"residual\" must be \"qr\" or "
               "\"categorical\"");
    }
    if (critic.dropped > 0 && is_implicit(critic.head))
      refuse("critic.dropped", "needs critic.head = \"qr\", where all quantiles weigh the same");
    if (critic.head == CriticHead::categorical) {
      if (critic.minimum == Minimum::quantiles)
        refuse("critic.minimum",
               "a categorical critic has no outputs for quantiles; must be \"means\"");
      if (critic.low >= critic.high)
        refuse("critic.low", fmt::format("must be less than critic.high = {}", critic.high));
    }
    if (critic.dropped >= critic.quantiles)
      refuse("critic.dropped",
             fmt::format("must be less than critic.quantiles = {}", critic.quantiles));
  }

  void check_delays() const {
    const DelayOptions& delay = config_.disturbances.delay;
    const auto check = [&](const char* key, const Range& steps) {
      if (steps.high >= config_.horizon)
        refuse(key, fmt::format("must be less than task.horizon = {}", config_.horizon));
    };
    check("delay.action", delay.action);
    check("delay.observation", delay.observation);
  }

  void check_layers() const {
    const auto check = [&](const char* key, const std::vector<int>& hidden) {
      const bool implicit = is_implicit(config_.critic.head);
      if (hidden.size() > 8 || hidden.size() < (implicit ? 2 : 1))
        refuse(key, fmt::format("{} layers; must be {} to 8{}", hidden.size(), implicit ? 2 : 1,
                                implicit ? fmt::format(" with critic.head = \"{}\"",
                                                       name(config_.critic.head))
                                         : ""));
    };
    check("network.hidden", config_.network.hidden);
    if (config_.scout.share > 0) check("scout.hidden", config_.scout.hidden);
    if (config_.scout.kind == NetworkKind::residual && config_.network.kind == NetworkKind::mlp)
      refuse("scout.kind", "needs network.kind = \"residual\"");
  }

  // The networks have an output for each quantile of each action.
  void check_grid() const {
    const int dimensions = action_dimensions(), most = config_.ids.max_actions;
    const int actions = ActionGrid::count(dimensions, config_.ids.bins);
    if (actions > most) {
      const int fitting = ActionGrid::fitting_bins(dimensions, most);
      refuse("ids.bins",
             fmt::format("{} action dimensions make {}{} actions, more than ids.max_actions = {}; "
                         "{}",
                         dimensions, actions > ActionGrid::most() ? "more than " : "",
                         std::min(actions, ActionGrid::most()), most,
                         fitting >= 2 ? fmt::format("ids.bins = {} would fit ({} actions)", fitting,
                                                    ActionGrid::count(dimensions, fitting))
                                      : "not even 2 bins would fit"));
    }
    if (std::int64_t{actions} * config_.critic.quantiles > kMostOutputs)
      refuse("critic.quantiles",
             fmt::format("with {} actions must be at most {}", actions, kMostOutputs / actions));
  }

  // Refuses keys that were given and that the run ignores. A file may repeat the value that the key
  // has anyway, as the config.toml of every run does.
  void check_unread_keys() const {
    for (const auto& [name, where] : config_.places) {
      if (where.empty()) continue;
      const ConfigKey& key = *find_key(tables_, name);
      const bool in_file = where.find(':') != std::string::npos;
      if (in_file && key.get(config_) == key.get(presets_)) continue;
      if (const std::string why = why_unread(config_, algorithm_, name); !why.empty())
        refuse(name, why);
    }
  }

  // "--set: train.batch = 64: why"; without the value of a list.
  [[noreturn]] void refuse(const std::string& key, const std::string& why) const {
    const OptionValue value = find_key(tables_, key)->get(config_);
    const bool list = std::holds_alternative<std::vector<double>>(value);
    refuse_setting(place_of(config_, key),
                   fmt::format("{}{}: {}", key, list ? "" : " = " + to_string(value), why));
  }

  const Task& task_;
  const Algorithm& algorithm_;
  std::vector<ConfigTable> tables_;
  Config config_, presets_;
};

using Values = std::map<std::string, OptionValue>;  // by name

// The values of a configuration, table by table.
std::vector<std::pair<std::string, Values>> values_of(const Config& config) {
  std::vector<std::pair<std::string, Values>> all;
  for (const ConfigTable& table : config_tables()) {
    Values values;
    const bool explore = table.name == "explore";
    if (explore) values = config.explore.all();  // its own explorer's keys alone
    for (const ConfigKey& key : table.keys) {
      if (!explore || !is_explorer_option(key.option.name))
        values[key.option.name] = key.get(config);
    }
    if (table.name == "task")
      values.insert(config.task_options.all().begin(), config.task_options.all().end());
    all.emplace_back(table.name, std::move(values));
  }
  return all;
}

Config resolve(const std::vector<Setting>& given, bool is_new) {
  const std::vector<Setting> settings = in_todays_keys(given);
  for (const Setting& setting : settings) check_form(setting);
  std::optional<Task> foreign;
  const Task& task = find_named(settings, "task", [&](const std::string& id) -> const Task& {
    const bool has_version = last(settings, kTaskDigest) != nullptr;
    if (is_new && is_task_file(id) && !has_version) refresh_task_file(id);
    if (is_new || registered_task(id) != nullptr) return find_task(id);
    return foreign.emplace(foreign_task(id, settings));
  });
  const Algorithm& algorithm = find_named(settings, "algorithm", find_algorithm);

  Resolver resolver(task, algorithm);
  if (is_new) {
    const auto& task_id = std::get<std::string>(last(settings, "run.task")->value);
    for (const Setting& setting : task_presets(task, task_id, algorithm)) resolver.apply(setting);
    resolver.end_presets();
  }
  for (const Setting& setting : settings) {
    if (!setting.is_table) resolver.apply(setting);
  }
  if (!foreign) {
    resolver.derive(is_new);
    resolver.check_together();
  }
  if (is_new) resolver.check_new_run();

  return resolver.take();
}

// Keys with different values, and both values as text.
using Differences = std::map<std::string, std::pair<std::string, std::string>>;

Differences differing_keys(const Config& a, const Config& b) {
  Differences values;
  for (const auto& [table, own] : values_of(a)) {
    for (const auto& [name, value] : own) values[table + "." + name].first = to_string(value);
  }
  for (const auto& [table, own] : values_of(b)) {
    for (const auto& [name, value] : own) values[table + "." + name].second = to_string(value);
  }
  std::erase_if(values,
                [](const auto& entry) { return entry.second.first == entry.second.second; });
  return values;
}

std::vector<std::string> described(const Differences& differences) {
  std::vector<std::string> out;
  for (const auto& [key, values] : differences)
    out.push_back(fmt::format("{} = {}, was {}", key, values.first, values.second));
  return out;
}

}  // namespace

std::string place_of(const Config& config, const std::string& key) {
  const auto found = config.places.find(key);
  return found == config.places.end() ? "" : found->second;
}

int updates_per_epoch(const TrainConfig& train) {
  return std::max(1, static_cast<int>(std::lround(train.updates_per_step * train.steps_per_epoch)));
}

std::vector<int> saved_by_default(int epochs) {
  const int count = std::min(epochs, 10);
  std::vector<int> out;
  for (int i = 1; i <= count; ++i)
    out.push_back(static_cast<int>(std::int64_t{i} * epochs / count) - 1);
  return out;
}

int epochs_for_steps(double steps, const TrainConfig& train, const std::string& asked) {
  const double epochs = std::ceil((steps - train.warmup_steps) / train.steps_per_epoch);
  if (epochs < 1) {
    throw InputError(
        fmt::format("{}: the warm-up alone has {} steps (train.warmup_steps), an epoch {}", asked,
                    train.warmup_steps, train.steps_per_epoch));
  }
  if (epochs > 1e7)
    throw InputError(fmt::format("{}: {:.0f} epochs of {} steps; the most are 10,000,000", asked,
                                 epochs, train.steps_per_epoch));
  return static_cast<int>(epochs);
}

bool operator==(const Config& a, const Config& b) { return differing_keys(a, b).empty(); }

std::vector<std::string> differences(const Config& now, const Config& before) {
  return described(differing_keys(now, before));
}

std::vector<std::string> differences_read(const Config& now, const Config& before) {
  Differences found = differing_keys(now, before);
  std::erase_if(found, [&](const auto& entry) {
    return !reads(now, entry.first) && !reads(before, entry.first);
  });
  return described(found);
}

Config resolve_config(const std::vector<Setting>& settings) {
  std::vector<Setting> own;
  for (const Setting& setting : settings) own.push_back(translated(setting));
  return resolve(own, true);
}
Config restore_config(const std::vector<Setting>& settings) { return resolve(settings, false); }

std::vector<Setting> read_settings(const fs::path& file) {
  return parse_toml(read_file(file, kLargestFile), file.string());
}

std::string to_toml(const Config& config, const std::string& version, const std::string& command) {
  std::string text = toml_comment("ovde " + version) + toml_comment(command);
  text += fmt::format("\n[run]\ntask = {}\nalgorithm = {}\nseed = {}\n", to_string(config.task),
                      to_string(config.algorithm), config.seed);
  for (const auto& [table, values] : values_of(config)) {
    if (table == "run") continue;
    text += fmt::format("\n[{}]\n", table);
    for (const auto& [name, value] : values) text += toml_entry(name, value);
  }
  return text;
}

}  // namespace ovde
