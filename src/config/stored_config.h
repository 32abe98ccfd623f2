// A run's own config.toml as the beginning of another run: everything in it is resolved, and what
// its task and algorithm brought must not follow it to another task or algorithm.
#pragma once

#include <filesystem>
#include <vector>

#include "config/config.h"
#include "io/settings.h"

namespace ovde {

// Whether this program wrote the file, rather than a person.
bool is_stored_config(const std::filesystem::path& file);

// The settings of such a file, with those of keys that are younger than it: they have the values
// that there were before them, not those that a new run would get.
std::vector<Setting> in_full(std::vector<Setting> stored);

// Of the settings of such a file, in full, those that it reads and that its task and its algorithm
// would not bring by themselves: what a person asked for. Tasks and algorithms that this program
// does not know leave everything as it is.
std::vector<Setting> asked_for(const std::vector<Setting>& stored);

// The configuration of a run that is to have more epochs than it was begun with. Networks that are
// kept by default are also kept of the epochs that are added.
Config train_longer(Config config, int epochs);

}  // namespace ovde
