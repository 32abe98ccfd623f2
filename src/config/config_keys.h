// The keys of the configuration, each declared once with the member that it sets. Checks, files,
// `ovde list config` and docs/config.md are all made from these declarations.
#pragma once

#include <string>
#include <vector>

#include <ovde/env.h>
#include <ovde/option.h>
#include "agent/algorithm.h"
#include "base/field.h"
#include "config/config.h"
#include "io/settings.h"

namespace ovde {

using ConfigKey = Field<Config>;

struct ConfigTable {
  std::string name;
  std::string help;
  std::vector<ConfigKey> keys;
  bool of_task = false;  // defines the task, not the algorithm
};

void set_presets(const Algorithm& algorithm, Config& config);

// The tables of every run, in the order of a file. Table "task" has only the keys that all tasks
// share, table "explore" those of all registered explorers.
const std::vector<ConfigTable>& config_tables();

// The same with the keys of this task and of this algorithm's explorer.
std::vector<ConfigTable> config_tables(const Task& task, const Algorithm& algorithm);

// Whether the table of a key defines the task: the task itself, its noise, its disturbances.
bool is_of_task(const std::string& key);

// The key with a name such as "train.batch"; nullptr: unknown.
const ConfigKey* find_key(const std::vector<ConfigTable>& tables, const std::string& name);

// ---- checks of a single setting: its key exists, its value is in range, and config.toml can hold
// it

// Throws InputError whose message begins with the place of the setting.
[[noreturn]] void refuse_setting(const std::string& where, const std::string& message);

// Refuses unknown tables without keys, and keys without a table.
void check_form(const Setting& setting);

// The key that the setting sets. Refuses unknown keys and invalid values.
const ConfigKey& check_setting(const Setting& setting, const std::vector<ConfigTable>& tables);

}  // namespace ovde
