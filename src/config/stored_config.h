// The config.toml of a run as the start of another run. The file has every key; presets of its task
// and its algorithm must not carry over to another task or algorithm.
#pragma once

#include <vector>

#include "base/file_system.h"
#include "config/config.h"
#include "io/settings.h"

namespace ovde {

// Whether a run wrote the file.
bool is_stored_config(const fs::path& file);

// The settings of such a file, completed by keys that are younger than it, with the values that its
// run had.
std::vector<Setting> in_full(std::vector<Setting> stored);

// The settings of such a file that a user gave: the run reads them, and they are neither defaults
// nor presets. All settings where the task or the algorithm is unknown.
std::vector<Setting> asked_for(const std::vector<Setting>& stored);

// The configuration with more epochs. Where the networks of the default epochs are saved, those of
// the added epochs are saved as well.
Config train_longer(Config config, int epochs);

}  // namespace ovde
