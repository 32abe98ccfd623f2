// Whether one setting can be a configuration's, by itself: that its key exists, that its value is
// in range, and that it would survive being written to config.toml, from which a run is rebuilt.
#pragma once

#include <string>
#include <vector>

#include "config/config_keys.h"
#include "io/settings.h"

namespace ovde {

// InputError that begins with where the setting was given.
[[noreturn]] void refuse_setting(const std::string& where, const std::string& message);

// Refuses what has no key to look up: a table without keys, or a key outside any table.
void check_form(const Setting& setting);

// The setting's key among these tables. Refuses what is none, or no value of it.
const ConfigKey& check_setting(const Setting& setting, const std::vector<ConfigTable>& tables);

}  // namespace ovde
