// The keys of the configuration, declared once: validation, `ovde list config` and docs/config.md
// all read them here.
#pragma once

#include <string>
#include <vector>

#include <ovde/env.h>
#include <ovde/option.h>

namespace ovde {

struct ConfigKey {
  Option option;
  std::string derived_default =
      "";  // how the default follows from others, where it is not option.default_value
};

struct ConfigTable {
  std::string name;
  std::string help;
  std::vector<ConfigKey> keys;
};

// The tables that every run has, in the order in which they are written. Table "task" holds the
// keys common to all tasks only.
const std::vector<ConfigTable>& config_tables();

// The same with the task's own options in table "task".
std::vector<ConfigTable> config_tables(const Task& task);

}  // namespace ovde
