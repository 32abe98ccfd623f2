// The keys of the configuration, each declared once with the member it fills: validation, reading
// and writing files, `ovde list config` and docs/config.md all go by them.
#pragma once

#include <string>
#include <vector>

#include <ovde/env.h>
#include <ovde/option.h>
#include "agent/algorithm.h"
#include "base/field.h"
#include "config/config.h"

namespace ovde {

using ConfigKey = Field<Config>;

struct ConfigTable {
  std::string name;
  std::string help;
  std::vector<ConfigKey> keys;
};

// The tables that every run has, in the order in which they are written. Table "task" holds the
// keys common to all tasks only. Made once for the explorers that are registered.
const std::vector<ConfigTable>& config_tables();

// The same with the task's own options in table "task", and those of the algorithm's explorer in
// table "explore".
std::vector<ConfigTable> config_tables(const Task& task, const Algorithm& algorithm);

// The key "train.batch" among these tables; nullptr: none.
const ConfigKey* find_key(const std::vector<ConfigTable>& tables, const std::string& name);

}  // namespace ovde
