// The configuration of a run: every key resolved, from defaults, presets, a file and the command
// line, and checked. What the keys are is declared in train/config_keys.h; how they are spelled in
// a file is train/settings.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ovde/option.h>
#include "io/settings.h"

namespace ovde {

struct Config {
  std::string task;       // "GridChaos-v0:s"
  std::string algorithm;  // "ovde_g"
  std::uint64_t seed = 0;

  OptionValues task_options;  // table "task": horizon and what the task declares
  OptionValues noise;
  OptionValues network;
  OptionValues critic;
  OptionValues explore;
  OptionValues td3;
  OptionValues rnd;
  OptionValues ids;
  OptionValues train;
  OptionValues checkpoint;
  OptionValues record;
};

bool operator==(const Config& a, const Config& b);

// Every key that differs, as "train.batch = 64, was 256".
std::vector<std::string> differences(const Config& now, const Config& before);

// Defaults < algorithm and task presets < `settings`, of which a later one wins over an earlier
// one. The settings must name a task and an algorithm (run.task, run.algorithm). Throws InputError
// that says where the fault is and what is valid.
Config resolve_config(const std::vector<Setting>& settings);

// The same for what to_toml() wrote, maybe before a key existed: such a key has its default, not
// what the task brings today.
Config restore_config(const std::vector<Setting>& settings);

// The settings of a file; InputError if it cannot be read.
std::vector<Setting> read_settings(const std::filesystem::path& file);

// Everything resolved, as a file that restore_config() turns back into the same Config.
std::string to_toml(const Config& config, const std::string& version, const std::string& command);

}  // namespace ovde
