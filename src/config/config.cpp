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
#include "config/config_keys.h"
#include "config/removed_keys.h"
#include "config/setting_checks.h"
#include "config/synonyms.h"
#include "config/unread_keys.h"
#include "env/registry.h"
#include "io/files.h"

namespace ovde {

namespace {

// A file with as many of the longest texts and lists as there are keys is not too large.
constexpr std::size_t kLargestFile = 4 << 20;
constexpr int kMostOutputs = 1 << 20;  // of a network: what a policy file may hold

// The value of run.<name>: the last setting that gives it.
const Setting* last(const std::vector<Setting>& settings, const std::string& key) {
  const auto found = std::find_if(settings.rbegin(), settings.rend(),
                                  [&](const Setting& s) { return s.key == key; });
  return found == settings.rend() ? nullptr : &*found;
}

// What run.<what> names, found by `find`, whose complaint then says where the name was given.
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

// Values that the task and the algorithm bring, weaker than anything a person asks for.
std::vector<Setting> presets(const Task& task, const std::string& task_id,
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

// Ten epochs, or all where there are fewer, the last among them.
std::vector<int> evenly_spaced(int epochs) {
  const int count = std::min(epochs, 10);
  std::vector<int> out;
  for (int i = 1; i <= count; ++i)
    out.push_back(static_cast<int>(std::int64_t{i} * epochs / count) - 1);
  return out;
}

// In place of a task that this program does not have, registered by another one that embeds the
// library: enough to read the configuration of its run, to report on it and to export its policy.
Task foreign_task(const std::string& id, const std::vector<Setting>& settings) {
  Task task;
  task.name = id.substr(0, id.find(':'));
  for (const Setting& setting : settings) {
    constexpr std::string_view table = "task.";
    if (!setting.key.starts_with(table) || setting.key == "task.horizon") continue;
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

// A configuration in the making: knows which keys were given, and where.
class Resolver {
 public:
  Resolver(const Task& task, const Algorithm& algorithm)
      : task_(task), algorithm_(algorithm), tables_(config_tables(task, algorithm)) {
    for (const ConfigTable& table : tables_) {
      for (const ConfigKey& key : table.keys) key.set(config_, key.option.default_value);
    }
    config_.critic = algorithm.presets.critic;
    config_.rnd = algorithm.presets.rnd;
    config_.scout = algorithm.presets.scout;
  }

  void apply(const Setting& setting) {
    check_setting(setting, tables_).set(config_, setting.value);
    given_[setting.key] = setting.where;
  }

  // A key that was removed, with the value that all runs have now (removed_keys.h).
  bool ignores(const Setting& setting) const {
    return find_key(tables_, setting.key) == nullptr && is_removed_default(setting);
  }

  // What was applied so far is what the task and the algorithm bring.
  void end_of_presets() { brought_ = config_; }

  // The protocol's defaults for everything that nobody asked for (docs/config.md). A stored
  // configuration may be older than a key: it has the value that there was before.
  void derive(bool is_new) {
    TrainConfig& train = config_.train;
    const int horizon = config_.horizon;
    const bool tied = task_.steps_per_epoch == 0 || task_.steps_per_epoch == task_.horizon;
    if (!given("train.steps_per_epoch"))
      train.steps_per_epoch = tied ? horizon : task_.steps_per_epoch;

    const int n = train.steps_per_epoch;
    if (!given("train.warmup_steps")) train.warmup_steps = std::max(10 * n, train.batch);
    if (!given("train.eval_steps")) train.eval_steps = std::max((n <= 100 ? 10 : 5) * n, horizon);
    if (!given("train.score_eval_epochs")) train.score_eval_epochs = train.eval_epochs;
    if (!given("train.replay")) train.replay = n <= 500 ? 100'000 : 1'000'000;

    const bool published =
        is_new ? algorithm_.distributional && algorithm_.policy != PolicyKind::greedy
               : is_implicit(config_.critic.head);
    if (published) {  // as the published critic has them
      if (!given("network.init")) config_.network.init = Initialisation::torch;
      if (!given("critic.norm")) config_.critic.norm = true;
    }

    if (algorithm_.policy == PolicyKind::greedy && !given("ids.bins")) {
      config_.ids.bins = ActionGrid::standard_bins(action_dimensions(), config_.ids.max_actions);
    }

    if (!task_.map) return;
    if (!given("record.visits")) config_.record.visits = true;
    if (!given("record.networks")) config_.record.networks = evenly_spaced(train.epochs);
  }

  // Keys that are each in range and still cannot be trained with.
  void check_together() const {
    const int quantiles = config_.critic.quantiles;
    if (algorithm_.distributional && quantiles < 2) {
      conflict("critic.quantiles", quantiles, fmt::format("{} needs at least 2", algorithm_.name));
    }
    if (!algorithm_.distributional && quantiles != 1) {
      conflict("critic.quantiles", quantiles,
               fmt::format("{} has no quantile critics; must be 1", algorithm_.name));
    }
    if (!algorithm_.distributional && config_.rnd.bonus == Bonus::discounted)
      refuse("rnd.bonus",
             fmt::format("rnd.bonus = \"discounted\", but {} has one value per critic, "
                         "which has no spread; must be \"none\" or \"plain\"",
                         algorithm_.name));
    const auto layers = config_.network.hidden.size();
    if (is_implicit(config_.critic.head)) {
      const auto refuse_head = [&](const char* why) {
        refuse("critic.head", fmt::format("critic.head = \"{}\", but {} {}; must be \"qr\"",
                                          name(config_.critic.head), algorithm_.name, why));
      };
      if (!algorithm_.distributional) refuse_head("has one value per critic and no quantiles");
      if (algorithm_.policy == PolicyKind::greedy)
        refuse_head("has outputs for each of its actions");
      if (layers < 2) {
        refuse("network.hidden",
               fmt::format("network.hidden has 1 layer; critic.head = \"{}\" needs at least 2: "
                           "for the features, and after their product with the fraction's",
                           name(config_.critic.head)));
      }
    }
    if (config_.critic.norm && algorithm_.policy == PolicyKind::greedy)
      refuse("critic.norm", fmt::format("critic.norm = true, but {} has no normalised critics; "
                                        "must be false",
                                        algorithm_.name));
    if (config_.scout.share > 0) check_scout();
    if (config_.critic.dropped > 0) check_truncation();
    if (config_.top.arms.empty()) refuse("top.arms", "top.arms is empty; must have a number");
    if (layers > 8) {
      refuse("network.hidden",
             fmt::format("network.hidden has {} layers; must have at most 8", layers));
    }

    if (algorithm_.policy == PolicyKind::greedy) check_grid();

    const TrainConfig& train = config_.train;
    if (train.eval_steps < config_.horizon) {
      conflict("train.eval_steps", train.eval_steps,
               fmt::format("must be at least task.horizon = {}, for one whole episode",
                           config_.horizon));
    }
    if (train.replay < train.batch) {
      conflict("train.replay", train.replay,
               fmt::format("must be at least train.batch = {}", train.batch));
    }
    if (const int first = train.warmup_steps + train.steps_per_epoch; first < train.batch) {
      conflict("train.batch", train.batch,
               fmt::format("must be at most train.warmup_steps + train.steps_per_epoch = {}, what "
                           "the first update "
                           "can choose from",
                           first));
    }

    if (config_.record.visits && !task_.map) {
      refuse("record.visits",
             fmt::format("record.visits = true: the observations of {} are not positions on a map",
                         task_.name));
    }
  }

  // What would be refused while it runs, or not have the effect that was asked for. A run that is
  // there is not judged again.
  void check_new_run() const {
    const int epochs = config_.train.epochs;
    for (const int epoch : config_.record.networks) {
      if (epoch < epochs) continue;
      refuse("record.networks",
             fmt::format("record.networks has {}; must be epochs from 0 to {} (train.epochs = {})",
                         epoch, epochs - 1, epochs));
    }

    try {
      with_noise(task_.make(config_.task_options), config_.noise);
    } catch (const OptionError& error) {
      refuse(error.key(), error.what());
    }
    refuse_unread_keys();
  }

  Config take() { return std::move(config_); }

 private:
  bool given(const std::string& key) const { return given_.contains(key); }

  // Keys that were asked for and that nothing will read. A file may repeat what they would be
  // anyway, as the config.toml of every run does.
  void refuse_unread_keys() const {
    for (const ConfigTable& table : tables_) {
      for (const ConfigKey& key : table.keys) {
        const std::string name = table.name + "." + key.option.name;
        const auto found = given_.find(name);
        if (found == given_.end() || found->second.empty()) continue;
        const bool in_file = found->second.find(':') != std::string::npos;
        if (in_file && key.get(config_) == key.get(brought_)) continue;
        if (const std::string why = why_unread(config_, algorithm_, name); !why.empty())
          refuse(name, fmt::format("{} = {}: {}", name, to_string(key.get(config_)), why));
      }
    }
  }

  int action_dimensions() const { return task_.make(config_.task_options)->action_space().size(); }

  void check_truncation() const {
    const int dropped = config_.critic.dropped, quantiles = config_.critic.quantiles;
    if (algorithm_.policy == PolicyKind::greedy)
      conflict("critic.dropped", dropped,
               fmt::format("{} has no truncated targets; must be 0", algorithm_.name));
    if (is_implicit(config_.critic.head))
      conflict("critic.dropped", dropped, "needs critic.head = \"qr\", whose values count alike");
    if (dropped >= quantiles)
      conflict("critic.dropped", dropped,
               fmt::format("must be less than critic.quantiles = {}", quantiles));
  }

  void check_scout() const {
    const auto layers = config_.scout.hidden.size();
    const std::size_t least = is_implicit(config_.critic.head) ? 2 : 1;
    if (layers < least || layers > 8)
      refuse("scout.hidden",
             fmt::format("scout.hidden has {} layers; must have {} to 8", layers, least));
  }

  // Networks with an output for each quantile of each action: not too many actions.
  void check_grid() const {
    const int dimensions = action_dimensions(), bins = config_.ids.bins;
    const int most = config_.ids.max_actions;
    const int actions = ActionGrid::count(dimensions, bins);
    if (actions > most) {
      const int fitting = ActionGrid::fitting_bins(dimensions, most);
      conflict(
          "ids.bins", bins,
          fmt::format("{} action dimensions make {}{} actions, more than ids.max_actions = {}; "
                      "{}",
                      dimensions, actions > ActionGrid::most() ? "more than " : "",
                      std::min(actions, ActionGrid::most()), most,
                      fitting >= 2 ? fmt::format("ids.bins = {} would fit ({} actions)", fitting,
                                                 ActionGrid::count(dimensions, fitting))
                                   : "not even 2 bins would fit"));
    }
    const int quantiles = config_.critic.quantiles;
    if (std::int64_t{actions} * quantiles > kMostOutputs) {
      conflict("critic.quantiles", quantiles,
               fmt::format("with {} actions must be at most {}", actions, kMostOutputs / actions));
    }
  }

  [[noreturn]] void refuse(const std::string& key, const std::string& message) const {
    const auto found = given_.find(key);
    refuse_setting(found == given_.end() ? "" : found->second, message);
  }

  [[noreturn]] void conflict(const std::string& key, int value, const std::string& why) const {
    refuse(key, fmt::format("{} = {}: {}", key, value, why));
  }

  const Task& task_;
  const Algorithm& algorithm_;
  std::vector<ConfigTable> tables_;
  Config config_, brought_;
  std::map<std::string, std::string> given_;  // key -> where
};

using Values = std::map<std::string, OptionValue>;  // by name

// All that a configuration holds, table by table.
std::vector<std::pair<std::string, Values>> values_of(const Config& config) {
  std::vector<std::pair<std::string, Values>> all;
  for (const ConfigTable& table : config_tables()) {
    Values values;
    if (table.name == "explore") {
      values = config.explore.all();  // not those of every explorer
    } else {
      for (const ConfigKey& key : table.keys) values[key.option.name] = key.get(config);
    }
    if (table.name == "task")
      values.insert(config.task_options.all().begin(), config.task_options.all().end());
    all.emplace_back(table.name, std::move(values));
  }
  return all;
}

Config resolve(const std::vector<Setting>& settings, bool is_new) {
  for (const Setting& setting : settings) check_form(setting);
  std::optional<Task> foreign;
  const Task& task = find_named(settings, "task", [&](const std::string& id) -> const Task& {
    if (is_new || registered_task(id) != nullptr) return find_task(id);
    return foreign.emplace(foreign_task(id, settings));
  });
  const Algorithm& algorithm = find_named(settings, "algorithm", find_algorithm);

  Resolver resolver(task, algorithm);
  if (is_new) {
    const auto& task_id = std::get<std::string>(last(settings, "run.task")->value);
    for (const Setting& setting : presets(task, task_id, algorithm)) resolver.apply(setting);
    resolver.end_of_presets();
  }
  for (const Setting& setting : settings) {
    if (!setting.is_table && !resolver.ignores(setting)) resolver.apply(setting);
  }
  if (!foreign) {
    resolver.derive(is_new);
    resolver.check_together();
  }
  if (is_new) resolver.check_new_run();

  return resolver.take();
}

// The keys whose values are not the same, with both as they would be written.
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

int updates_per_epoch(const TrainConfig& train) {
  return std::max(1, static_cast<int>(std::lround(train.updates_per_step * train.steps_per_epoch)));
}

const char* name(Initialisation init) {
  switch (init) {
    case Initialisation::base:
      return "base";
    case Initialisation::torch:
      return "torch";
  }
  throw Error("an initialisation without a name");
}

const char* name(TargetStart targets) {
  switch (targets) {
    case TargetStart::copies:
      return "copies";
    case TargetStart::own:
      return "own";
  }
  throw Error("a start of target networks without a name");
}

const char* name(CriticHead head) {
  switch (head) {
    case CriticHead::qr:
      return "qr";
    case CriticHead::iqn:
      return "iqn";
    case CriticHead::embedded:
      return "embedded";
  }
  throw Error("a critic's head without a name");
}

const char* name(QuantileWeights weights) {
  switch (weights) {
    case QuantileWeights::widths:
      return "widths";
    case QuantileWeights::equal:
      return "equal";
  }
  throw Error("weights of quantiles without a name");
}

const char* name(Minimum minimum) {
  switch (minimum) {
    case Minimum::means:
      return "means";
    case Minimum::quantiles:
      return "quantiles";
  }
  throw Error("a minimum of critics without a name");
}

const char* name(EpistemicForm epistemic) {
  switch (epistemic) {
    case EpistemicForm::quantiles:
      return "quantiles";
    case EpistemicForm::means:
      return "means";
  }
  throw Error("a form of the epistemic uncertainty without a name");
}

const char* name(VarianceForm variance) {
  switch (variance) {
    case VarianceForm::biased:
      return "biased";
    case VarianceForm::unbiased:
      return "unbiased";
  }
  throw Error("a form of the variance without a name");
}

const char* name(Bonus bonus) {
  switch (bonus) {
    case Bonus::none:
      return "none";
    case Bonus::plain:
      return "plain";
    case Bonus::discounted:
      return "discounted";
  }
  throw Error("a bonus without a name");
}

const char* name(Precision precision) {
  switch (precision) {
    case Precision::tf32:
      return "tf32";
    case Precision::fp32:
      return "fp32";
  }
  throw Error("a precision without a name");
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

std::vector<Setting> read_settings(const std::filesystem::path& file) {
  return parse_toml(read_file(file, kLargestFile), file.string());
}

std::string to_toml(const Config& config, const std::string& version, const std::string& command) {
  std::string text = toml_comment("ovde " + version) + toml_comment(command);
  text += fmt::format("\n[run]\ntask = {}\nalgorithm = {}\nseed = {}\n", to_string(config.task),
                      to_string(config.algorithm), config.seed);
  for (const auto& [table, values] : values_of(config)) {
    if (table == "run") continue;  // in an order of its own
    text += fmt::format("\n[{}]\n", table);
    for (const auto& [name, value] : values) text += toml_entry(name, value);
  }
  return text;
}

}  // namespace ovde
