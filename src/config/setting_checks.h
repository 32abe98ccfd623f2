// Checks of a single setting: its key exists, its value is in range, and config.toml can hold it.
#pragma once

#include <string>
#include <vector>

#include "config/config_keys.h"
#include "io/settings.h"

namespace ovde {

// Throws InputError whose message begins with the place of the setting.
[[noreturn]] void refuse_setting(const std::string& where, const std::string& message);

// Refuses unknown tables without keys, and keys without a table.
void check_form(const Setting& setting);

// The key that the setting sets. Refuses unknown keys and invalid values.
const ConfigKey& check_setting(const Setting& setting, const std::vector<ConfigTable>& tables);

}  // namespace ovde
