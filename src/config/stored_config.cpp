#include "config/stored_config.h"

#include <algorithm>
#include <iterator>
#include <map>

#include <ovde/error.h>
#include "config/synonyms.h"
#include "config/unread_keys.h"
#include "env/registry.h"
#include "io/files.h"

namespace ovde {

namespace {

std::map<std::string, OptionValue> resolved(const std::vector<Setting>& settings) {
  std::map<std::string, OptionValue> out;
  for (Setting& setting : parse_toml(to_toml(resolve_config(settings), "", ""), "resolved"))
    out[setting.key] = std::move(setting.value);
  return out;
}

bool is_unchanged(const std::map<std::string, OptionValue>& values, const Setting& setting) {
  const auto found = values.find(setting.key);
  return found != values.end() && found->second == setting.value;
}

// Whether the other settings give this key the same value.
bool follows(const std::vector<Setting>& others, const Setting& setting) {
  try {
    return is_unchanged(resolved(others), setting);
  } catch (const InputError&) {  // they are invalid without it
    return false;
  }
}

}  // namespace

bool is_stored_config(const fs::path& file) { return read_file(file).starts_with("# ovde "); }

std::vector<Setting> in_full(std::vector<Setting> stored) {
  stored = in_todays_keys(std::move(stored));
  for (Setting& setting : parse_toml(to_toml(restore_config(stored), "", ""), "")) {
    if (std::ranges::find(stored, setting.key, &Setting::key) == stored.end())
      stored.push_back(std::move(setting));
  }
  return stored;
}

std::vector<Setting> asked_for(const std::vector<Setting>& stored) {
  std::vector<Setting> named, others;
  try {
    for (const Setting& setting : in_full(stored)) {
      const bool names_task = setting.key.starts_with("run.") || setting.key == kTaskDigest;
      (names_task ? named : others).push_back(setting);
    }
    const Config config = restore_config(stored);
    std::erase_if(others, [&](const Setting& setting) { return !reads(config, setting.key); });
    const auto presets = resolved(named);
    std::erase_if(others, [&](const Setting& setting) { return is_unchanged(presets, setting); });
    // values that follow from another given key, as the warm-up from the steps of an epoch
    for (auto each = others.begin(); each != others.end();) {
      std::vector<Setting> without = named;
      std::copy(others.begin(), each, std::back_inserter(without));
      std::copy(each + 1, others.end(), std::back_inserter(without));
      each = follows(without, *each) ? others.erase(each) : each + 1;
    }
  } catch (const InputError&) {
    return stored;
  }
  named.insert(named.end(), others.begin(), others.end());
  return named;
}

Config train_longer(Config config, int epochs) {
  if (config.record.networks == saved_by_default(config.train.epochs)) {
    for (const int epoch : saved_by_default(epochs)) {
      if (epoch >= config.train.epochs) config.record.networks.push_back(epoch);
    }
  }
  config.train.epochs = epochs;
  return config;
}

}  // namespace ovde
