#include "config/setting_checks.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>

namespace ovde {

namespace {

constexpr std::size_t kLongestText = 1000, kLongestList = 10'000;

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : fmt::format(" (did you mean {}?)", near);
}

// A run is restored from its config.toml, so that file must be able to hold the value.
void check_writable(const Setting& setting) {
  const auto refuse_as = [&](const std::string& valid) {
    refuse_setting(setting.where, fmt::format("{} must be {}", setting.key, valid));
  };
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (const auto* text = std::get_if<std::string>(&setting.value)) {
    if (!std::ranges::all_of(*text, printable)) refuse_as("printable ASCII text");
    if (text->size() > kLongestText)
      refuse_as(fmt::format("at most {} characters long", kLongestText));
  } else if (const auto* list = std::get_if<std::vector<double>>(&setting.value)) {
    if (list->size() > kLongestList)
      refuse_as(fmt::format("a list of at most {} numbers", kLongestList));
  }
}

[[noreturn]] void refuse_unknown(const Setting& setting, const std::vector<ConfigTable>& tables) {
  const std::string table_name = setting.key.substr(0, setting.key.find('.'));
  std::vector<std::string> all, in_table, table_names;
  for (const ConfigTable& table : tables) {
    if (!table.keys.empty()) table_names.push_back(table.name);
    for (const ConfigKey& key : table.keys) {
      all.push_back(table.name + "." + key.option.name);
      if (table.name == table_name) in_table.push_back(key.option.name);
    }
  }
  const std::string valid = in_table.empty()
                                ? fmt::format("tables are {}", fmt::join(table_names, ", "))
                                : fmt::format("{} has {}", table_name, fmt::join(in_table, ", "));
  refuse_setting(setting.where, fmt::format("unknown key '{}'{}; {}", setting.key,
                                            did_you_mean(setting.key, all), valid));
}

}  // namespace

void refuse_setting(const std::string& where, const std::string& message) {
  throw InputError(where.empty() ? message : where + ": " + message);
}

void check_form(const Setting& setting) {
  if (!setting.is_table && setting.key.find('.') != std::string::npos) return;
  const std::vector<ConfigTable>& tables = config_tables();
  std::vector<std::string> table_names;
  for (const ConfigTable& table : tables) table_names.push_back(table.name);
  const std::string valid = fmt::format("tables are {}", fmt::join(table_names, ", "));

  const std::string& name = setting.key;
  if (setting.is_table) {
    if (std::ranges::find(table_names, name) != table_names.end()) return;
    refuse_setting(setting.where, fmt::format("unknown table '{}'{}; {}", name,
                                              did_you_mean(name, table_names), valid));
  }
  for (const ConfigTable& table : tables) {
    for (const ConfigKey& key : table.keys) {
      if (key.option.name != name) continue;
      refuse_setting(
          setting.where,
          fmt::format("unknown key '{0}' (did you mean {1}.{0}, in a file {0} below [{1}]?); {2}",
                      name, table.name, valid));
    }
  }
}

const ConfigKey& check_setting(const Setting& setting, const std::vector<ConfigTable>& tables) {
  const ConfigKey* key = find_key(tables, setting.key);
  if (key == nullptr) refuse_unknown(setting, tables);
  try {
    check_option(key->option, setting.value, setting.key.substr(0, setting.key.find('.')));
  } catch (const InputError& error) {
    refuse_setting(setting.where, error.what());
  }
  check_writable(setting);
  return *key;
}

}  // namespace ovde
