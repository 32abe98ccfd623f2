// The disturbances of a stress test: named sets of configuration keys whose values grow with a
// severity from 0 (none) to 1.
#pragma once

#include <string>
#include <vector>

#include "base/file_system.h"
#include "config/config.h"
#include "io/settings.h"

namespace ovde {

struct StressAxis {
  // A key whose value moves in a straight line with the severity.
  struct Scaled {
    std::string key;
    double neutral;              // at severity 0
    std::vector<double> at_one;  // at severity 1: a number, or the two ends of a range
    bool whole = false;          // rounded to a whole number
  };
  std::string name;  // "delay"
  std::string text;  // "actions arrive 5 steps late"
  std::vector<Scaled> scaled;
  std::vector<Setting> fixed = {};  // further settings at every severity above 0

  // None at severity 0.
  std::vector<Setting> settings(double severity) const;
};

const std::vector<StressAxis>& standard_axes();

// Whether a key of the configuration disturbs a task.
bool is_disturbing(const std::string& key);

// A standard disturbance by its name, or "KEY=VALUE": that key alone, with its value at severity 1.
// InputError with the valid names.
StressAxis find_axis(const std::string& word);

// The settings of a run without disturbances: the keys that disturb have the task's defaults,
// whatever the run was trained with. `run`: its folder.
std::vector<Setting> undisturbed_settings(const fs::path& run);

// The configuration of a run's environment under a disturbance. InputError if the task sets one of
// its keys itself.
Config disturbed_config(std::vector<Setting> undisturbed, const StressAxis& disturbance,
                        double severity);

// "delay.action=5"
std::string to_text(const std::vector<Setting>& settings);

}  // namespace ovde
