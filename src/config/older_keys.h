// Keys and values of earlier versions. Configurations that have them still open: what was renamed
// is read under its new name, and a removed key may have the value that every run has now.
#pragma once

#include <vector>

#include "io/settings.h"

namespace ovde {

// The settings without removed keys, and with today's names of the others. InputError with the
// reason where a removed key has another value.
std::vector<Setting> in_todays_keys(std::vector<Setting> settings);

}  // namespace ovde
