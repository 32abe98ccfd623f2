#include "stress/axes.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/env.h>
#include <ovde/error.h>
#include "base/suggestion.h"
#include "base/text.h"
#include "config/config_keys.h"

namespace ovde {

namespace {

std::vector<double> numbers_of(const OptionValue& value) {
  if (const auto* list = std::get_if<std::vector<double>>(&value)) return *list;
  if (const auto* number = std::get_if<double>(&value)) return {*number};
  return {};
}

StressAxis single_key(const Setting& setting) {
  const ConfigKey& key = check_setting(setting, config_tables());
  const std::vector<double> neutral = numbers_of(key.option.default_value);
  const std::vector<double> at_one = numbers_of(setting.value);
  if (!is_disturbing(setting.key) || neutral.empty() || at_one.empty()) {
    std::vector<std::string> tables;
    for (const ConfigTable& table : config_tables())
      if (is_disturbing(table.name + ".")) tables.push_back(table.name);
    throw InputError(fmt::format("disturbance {}: must be a number of one of the tables {}",
                                 setting.key, fmt::join(tables, ", ")));
  }
  if (std::ranges::count(at_one, neutral.front()) == std::ssize(at_one)) {
    const std::string nothing = to_string(key.option.default_value);
    throw InputError(
        fmt::format("disturbance {}: {} disturbs nothing; must be the value at severity 1, other "
                    "than {}",
                    setting.key, nothing, nothing));
  }
  return {.name = setting.key,
          .text = setting.key + " = " + to_string(setting.value),
          .scaled = {{setting.key, neutral.front(), at_one, key.option.integer}}};
}

std::string task_of(const std::vector<Setting>& run) {
  return std::get<std::string>(std::ranges::find(run, "run.task", &Setting::key)->value);
}

// Settings that the task itself makes, such as the noise of a noisy task.
std::vector<Setting> own_disturbances(const std::string& task) {
  std::vector<Setting> out;
  for (const auto& [key, value] : find_task(task).brings) {
    if (is_disturbing(key)) out.push_back({key, value, ""});
  }
  return out;
}

// Several disturbances at the same severity.
StressAxis together(const std::string& text, const std::vector<StressAxis>& parts) {
  StressAxis all{.name = "together", .text = text, .scaled = {}};
  for (const StressAxis& part : parts) {
    all.scaled.insert(all.scaled.end(), part.scaled.begin(), part.scaled.end());
    all.fixed.insert(all.fixed.end(), part.fixed.begin(), part.fixed.end());
  }
  return all;
}

}  // namespace

bool is_disturbing(const std::string& key) { return is_of_task(key) && !key.starts_with("task."); }

std::vector<Setting> StressAxis::settings(double severity) const {
  if (severity == 0) return {};
  std::vector<Setting> out = fixed;
  for (const Scaled& each : scaled) {
    std::vector<double> values;
    for (const double end : each.at_one) {
      const double value = each.neutral + severity * (end - each.neutral);
      // 0.16, not 0.16000000000000003
      values.push_back(each.whole ? std::round(value) : std::round(1e9 * value) / 1e9);
    }
    out.push_back({each.key, values.size() > 1 ? OptionValue(values) : OptionValue(values[0]), ""});
  }
  return out;
}

const std::vector<StressAxis>& standard_axes() {
  static const std::vector<StressAxis> all = [] {
    const StressAxis delay{.name = "delay",
                           .text = "actions arrive 5 steps late",
                           .scaled = {{"delay.action", 0, {5}, true}}};
    const StressAxis noise{.name = "sensor-noise",
                           .text = "observations have noise of half their spread",
                           .scaled = {{"sensor.noise", 0, {0.5}}}};
    const StressAxis dropped{.name = "dropped",
                             .text = "80 % of the readings are missing, and the last one is held",
                             .scaled = {{"sensor.dropped", 0, {0.8}}}};
    const StressAxis lag{.name = "lag",
                         .text = "actuators follow with a time constant of 3 steps",
                         .scaled = {{"actuator.lag", 0, {3}}}};
    const StressAxis weak{.name = "weak",
                          .text = "actuators have 40 % of their strength",
                          .scaled = {{"actuator.gain", 1, {0.4}}}};
    const StressAxis mass{.name = "mass",
                          .text = "masses are drawn for each episode, from 30 % to 300 %",
                          .scaled = {{"model.mass", 1, {0.3, 3}}}};
    const StressAxis friction{.name = "friction",
                              .text = "friction is 5 % of the model's",
                              .scaled = {{"model.friction", 1, {0.05}}}};
    const StressAxis push{.name = "push",
                          .text = "pushes that change the velocity by 2 m/s, in 2 % of the steps",
                          .scaled = {{"push.velocity", 0, {2}}},
                          .fixed = {{"push.probability", 0.02, ""}}};
    const StressAxis state{.name = "state-noise",
                           .text = "noise on every coordinate of the state, ten times noise.scales",
                           .scaled = {{"noise.scale", 0, {10}}},
                           .fixed = {{"noise.transition", true, ""}}};
    return std::vector{delay,
                       noise,
                       dropped,
                       lag,
                       weak,
                       mass,
                       friction,
                       push,
                       state,
                       together("delay, sensor-noise, lag, mass and push at the same time",
                                {delay, noise, lag, mass, push})};
  }();
  return all;
}

StressAxis find_axis(const std::string& word) {
  if (word.find('=') != std::string::npos) return single_key(parse_assignment(word, "disturbance"));
  const auto found = std::ranges::find(standard_axes(), word, &StressAxis::name);
  if (found != standard_axes().end()) return *found;
  const std::vector<std::string> names = names_of(standard_axes());
  throw InputError(fmt::format("unknown disturbance '{}'{}; valid: {}, or KEY=VALUE", word,
                               did_you_mean(word, names), fmt::join(names, ", ")));
}

std::vector<Setting> undisturbed_settings(const fs::path& run) {
  std::vector<Setting> out = read_settings(run / "config.toml");
  for (const ConfigTable& table : config_tables()) {
    if (!is_disturbing(table.name + ".")) continue;
    for (const ConfigKey& key : table.keys)
      out.push_back({table.name + "." + key.option.name, key.option.default_value, ""});
  }
  for (Setting& setting : own_disturbances(task_of(out))) out.push_back(std::move(setting));
  return out;
}

Config disturbed_config(std::vector<Setting> undisturbed, const StressAxis& disturbance,
                        double severity) {
  const std::string task = task_of(undisturbed);
  for (Setting& setting : disturbance.settings(severity)) {
    for (const Setting& own : own_disturbances(task)) {
      if (own.key == setting.key)
        throw InputError(fmt::format("{} has {} of its own", task, own.key));
    }
    undisturbed.push_back(std::move(setting));
  }
  return restore_config(undisturbed);
}

std::string to_text(const std::vector<Setting>& settings) {
  std::vector<std::string> parts;
  for (const Setting& setting : settings)
    parts.push_back(setting.key + "=" + to_string(setting.value));
  return fmt::format("{}", fmt::join(parts, " "));
}

}  // namespace ovde
